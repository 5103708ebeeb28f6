//! Reading judgments and runs as trec_eval 10 does: fields parted by white space, lines that
//! begin with `#` are comments, blank lines are skipped, further fields of a run are ignored.
//! Unlike trec_eval, which takes `1.5x` for 1.5 and `high` for 0, a number must be one.

use std::ops::Range;
use std::path::Path;

use rayon::prelude::*;

use super::lists::{Lines, Qrels, Span, TrecRun, Twice};
use crate::data::{Dropped, whole_text};
use crate::{Error, Result, Run};

/// How many bad lines of a kind are quoted.
const SAMPLES: usize = 3;

/// About how many bytes one thread reads at a time.
const BLOCK: usize = 1 << 20;

/// Reads judgments, `qid iteration docno grade`, from a file (packed or not; `-` is standard
/// input). A bad line is an error that says where it stands, as is a document that a query
/// judges twice; if `lenient`, such lines are left out and counted (of a document's judgments
/// the first is kept).
pub fn read_qrels(path: &Path, lenient: bool, run: Run<'_>) -> Result<(Qrels, Vec<Dropped>)> {
    let (label, text) = whole_text(path, run)?;
    let file = File { path: &label, lenient, shape: QRELS };
    let (lines, bad) = file.lines(&text, judgment);
    let mut dropped = file.bad(&text, &bad)?;
    let (qrels, twice) = Qrels::read(text, lines);
    dropped.extend(file.twice(qrels.text(), &twice)?);
    if qrels.is_empty() { Err(file.empty("no judgments")) } else { Ok((qrels, dropped)) }
}

/// Reads a run, `qid Q0 docno rank score tag`, from a file (packed or not; `-` is standard
/// input). A bad line is an error that says where it stands, as is a document that a query
/// ranks twice; if `lenient`, such lines are left out and counted (of a document's lines the
/// first is kept).
pub fn read_run(path: &Path, lenient: bool, run: Run<'_>) -> Result<(TrecRun, Vec<Dropped>)> {
    let (label, text) = whole_text(path, run)?;
    let file = File { path: &label, lenient, shape: RUN };
    let (lines, bad) = file.lines(&text, result);
    let mut dropped = file.bad(&text, &bad)?;
    let tag = lines.last().map_or("", |doc| {
        // The document is the third field of its line, the tag the sixth.
        Fields::of_line(text.as_bytes(), doc.start).fields[3].of(&text)
    });
    let (ranked, twice) = TrecRun::read(tag.to_owned(), text, lines);
    dropped.extend(file.twice(ranked.text(), &twice)?);
    if ranked.is_empty() { Err(file.empty("no results")) } else { Ok((ranked, dropped)) }
}

const QRELS: &str = "a judgment has four fields: qid iteration docno grade (301 0 FT911-3 1)";
const RUN: &str =
    "a result has six fields: qid Q0 docno rank score tag (301 Q0 FT911-3 1 12.5 bm25)";

/// What can be wrong with a line.
struct Problem {
    /// For counting.
    why: &'static str,
    expected: &'static str,
}

const JUDGMENT_FIELDS: Problem =
    Problem { why: "not four fields", expected: "four fields: qid iteration docno grade" };
const GRADE: Problem = Problem { why: "no grade", expected: "a whole number as the grade" };
const RESULT_FIELDS: Problem =
    Problem { why: "fewer than six fields", expected: "six fields: qid Q0 docno rank score tag" };
const SCORE: Problem = Problem { why: "no score", expected: "a finite number as the score" };
const TWICE: Problem = Problem {
    why: "a document named before for the same query",
    expected: "each document once for a query",
};

/// A part of the text that is wrong.
struct Bad {
    at: Span,
    problem: &'static Problem,
}

/// Query, document and number of a line, or what is wrong with it.
type Read<T> = std::result::Result<(Span, Span, T), Bad>;

fn judgment(text: &str, line: &Fields) -> Read<i32> {
    let [query, _, doc, grade, ..] = line.fields;
    if line.n != 4 {
        return Err(Bad { at: line.whole(text), problem: &JUDGMENT_FIELDS });
    }
    let value = grade.of(text).parse().map_err(|_| Bad { at: grade, problem: &GRADE })?;
    Ok((query, doc, value))
}

fn result(text: &str, line: &Fields) -> Read<f64> {
    let [query, _, doc, _, score, _] = line.fields;
    if line.n < 6 {
        return Err(Bad { at: line.whole(text), problem: &RESULT_FIELDS });
    }
    let value = number(score.of(text)).filter(|score| score.is_finite());
    Ok((query, doc, value.ok_or(Bad { at: score, problem: &SCORE })?))
}

/// The number that `text` is. Most scores have few digits and no exponent; those are read here,
/// because a whole number below 2^53 over a small power of ten is rounded once, as it should.
fn number(text: &str) -> Option<f64> {
    const POWERS: [f64; 16] =
        [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.len() > 16 || !digits.as_bytes().first().is_some_and(u8::is_ascii_digit) {
        return text.parse().ok();
    }
    let (mut whole, mut places, mut after_point) = (0u64, 0, false);
    for &byte in digits.as_bytes() {
        match byte {
            b'0'..=b'9' => {
                whole = whole * 10 + u64::from(byte - b'0');
                places += usize::from(after_point);
            }
            b'.' if !after_point => after_point = true,
            _ => return text.parse().ok(),
        }
    }
    if whole >= 1 << 53 {
        return text.parse().ok();
    }
    let value = whole as f64 / POWERS[places];
    Some(if digits.len() < text.len() { -value } else { value })
}

/// The first six fields of a line, parted by what C takes for white space.
struct Fields {
    fields: [Span; 6],
    /// How many there are, further ones included.
    n: usize,
    /// Where the line ends, its end included.
    end: usize,
}

impl Fields {
    /// Of the line that begins at `start`.
    fn of_line(bytes: &[u8], start: usize) -> Self {
        let space = |byte: u8| byte == b' ' || byte.wrapping_sub(b'\t') < 5;
        let (mut fields, mut n, mut at) = ([Span { start, len: 0 }; 6], 0, start);
        loop {
            while at < bytes.len() && bytes[at] != b'\n' && space(bytes[at]) {
                at += 1;
            }
            if at >= bytes.len() || bytes[at] == b'\n' {
                let end = (at + 1).min(bytes.len());
                return Fields { fields, n, end };
            }
            let field = at;
            while at < bytes.len() && !space(bytes[at]) {
                at += 1;
            }
            if let Some(span) = fields.get_mut(n) {
                *span = Span { start: field, len: (at - field) as u32 };
            }
            n += 1;
        }
    }

    /// The line without the white space around it.
    fn whole(&self, text: &str) -> Span {
        let start = self.fields[0].start;
        Span { start, len: text[start..self.end].trim_end().len() as u32 }
    }
}

/// The file that is being read.
struct File<'a> {
    path: &'a Path,
    lenient: bool,
    shape: &'static str,
}

impl File<'_> {
    /// Parses every line that is neither blank nor a comment.
    fn lines<T: Copy + Send>(
        &self,
        text: &str,
        parse: impl Fn(&str, &Fields) -> Read<T> + Sync,
    ) -> (Lines<T>, Vec<Bad>) {
        let (parts, bad): (Vec<Lines<T>>, Vec<Vec<Bad>>) = blocks(text)
            .into_par_iter()
            .map(|block| {
                let (mut lines, mut bad) = (Lines::default(), Vec::new());
                let mut start = block.start;
                while start < block.end {
                    let line = Fields::of_line(text.as_bytes(), start);
                    start = line.end;
                    if line.n == 0 || text.as_bytes()[line.fields[0].start] == b'#' {
                        continue;
                    }
                    match parse(text, &line) {
                        Ok((query, doc, value)) => lines.push(text, query, doc, value),
                        Err(wrong) => bad.push(wrong),
                    }
                }
                (lines, bad)
            })
            .unzip();
        (Lines::concat(text, parts), bad.into_iter().flatten().collect())
    }

    /// What was wrong: an error, or counts if the reading is lenient.
    fn bad(&self, text: &str, bad: &[Bad]) -> Result<Vec<Dropped>> {
        self.count(bad.iter().map(|bad| {
            let found = move || shortened(bad.at.of(text));
            (text, bad.at, bad.problem, found)
        }))
    }

    /// The same for documents named twice.
    fn twice(&self, text: &str, twice: &[Twice]) -> Result<Vec<Dropped>> {
        self.count(twice.iter().map(|twice| {
            let found = move || {
                format!(
                    "{} again for query {}, as in line {}",
                    shortened(twice.again.of(text)),
                    shortened(twice.query.of(text)),
                    line_number(text, twice.first)
                )
            };
            (text, twice.again, &TWICE, found)
        }))
    }

    fn count<'t, F: Fn() -> String>(
        &self,
        wrong: impl Iterator<Item = (&'t str, Span, &'static Problem, F)>,
    ) -> Result<Vec<Dropped>> {
        let mut dropped: Vec<Dropped> = Vec::new();
        for (text, at, problem, found) in wrong {
            if !self.lenient {
                return Err(Error::Line {
                    path: self.path.to_owned(),
                    line: line_number(text, at),
                    expected: problem.expected.into(),
                    found: found(),
                    advice: format!(
                        "{}; --lenient leaves bad lines out and counts them",
                        self.shape
                    ),
                });
            }
            let place = dropped.iter().position(|dropped| dropped.why == problem.why);
            let place = place.unwrap_or_else(|| {
                dropped.push(Dropped { why: problem.why.into(), count: 0, samples: Vec::new() });
                dropped.len() - 1
            });
            let dropped = &mut dropped[place];
            dropped.count += 1;
            if dropped.samples.len() < SAMPLES {
                let (path, line) = (self.path.display(), line_number(text, at));
                let sample =
                    format!("{path}:{line}: expected {}, found {}", problem.expected, found());
                dropped.samples.push(sample);
            }
        }
        Ok(dropped)
    }

    fn empty(&self, problem: &str) -> Error {
        Error::Unusable {
            path: self.path.to_owned(),
            problem: problem.to_owned(),
            advice: self.shape.to_owned(),
        }
    }
}

/// The text in parts of about [`BLOCK`] bytes that end with a line.
fn blocks(text: &str) -> Vec<Range<usize>> {
    let mut blocks = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let bytes = text.as_bytes();
        let from = (start + BLOCK).min(bytes.len());
        let rest = bytes[from..].iter().position(|&byte| byte == b'\n');
        let end = rest.map_or(bytes.len(), |rest| from + rest + 1);
        blocks.push(start..end);
        start = end;
    }
    blocks
}

fn line_number(text: &str, at: Span) -> u64 {
    1 + text.as_bytes()[..at.start].iter().filter(|&&byte| byte == b'\n').count() as u64
}

/// Quoted, and cut where it is long.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;

    fn on_disk<T>(bytes: &[u8], read: impl Fn(&Path) -> T) -> T {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        read(file.path())
    }

    fn run_of(text: &str) -> Result<TrecRun> {
        on_disk(text.as_bytes(), |path| Ok(read_run(path, false, Run::silent())?.0))
    }

    fn ranked(run: &TrecRun) -> Vec<(&str, Vec<&str>)> {
        run.queries().map(|query| (query.id, query.hits().map(|hit| hit.doc).collect())).collect()
    }

    #[test]
    fn a_run_is_ranked_by_score_and_id_whatever_its_ranks_say() {
        let run = run_of(
            "# a comment\n\
             q2\tQ0  x 1 2.0 old\r\n\
             \n\
             q1 Q0 a 1 1e0 t more fields\n\
             q1 Q0 c 2 1.00000000001 t\n\
             q2 Q0 y 2 -inf2 t\n"
                .replace("-inf2", "-2.5")
                .as_str(),
        )
        .unwrap();
        // Both scores of q1 are 1 in single precision.
        assert_eq!(ranked(&run), [("q1", vec!["c", "a"]), ("q2", vec!["x", "y"])]);
        assert_eq!((run.tag.as_str(), run.find("q2"), run.find("q3")), ("t", Some(1), None));
        assert_eq!(run.query(1).hits().map(|hit| hit.score).collect::<Vec<_>>(), [2.0, -2.5]);
    }

    #[test]
    fn queries_may_be_mixed_up() {
        let run = run_of("b 0 x 0 1 t\na 0 x 0 1 t\nb 0 y 0 2 t\n10 0 z 0 1 t\n").unwrap();
        assert_eq!(ranked(&run), [("10", vec!["z"]), ("a", vec!["x"]), ("b", vec!["y", "x"])]);
    }

    #[test]
    fn judgments_are_sorted_by_id() {
        let text = "2 0 d10 1\n1 0 b 0\n#1 0 c 3\n2 0 d9 -1\n2 0 d1 2 \n";
        let qrels = on_disk(text.as_bytes(), |path| read_qrels(path, false, Run::silent()));
        let (qrels, dropped) = qrels.unwrap();
        assert!(dropped.is_empty());
        let of = |place: usize| qrels.query(place).grades().collect::<Vec<_>>();
        assert_eq!((qrels.len(), of(0)), (2, vec![("b", 0)]));
        assert_eq!(of(1), [("d1", 2), ("d10", 1), ("d9", -1)]);
    }

    #[test]
    fn bad_lines_are_refused_where_they_stand() {
        let run = |text: &str| run_of(text).unwrap_err().to_string();
        let good = "q Q0 a 1 1 t\n";
        for (line, words) in [
            ("q Q0 b 2 3", &["six fields", "found \"q Q0 b 2 3\""][..]),
            ("q Q0 b 2 high t", &["a finite number", "\"high\""]),
            ("q Q0 b 2 NaN t", &["a finite number", "\"NaN\""]),
            ("q Q0 b 2 1e999 t", &["a finite number", "\"1e999\""]),
            ("q Q0 a 2 3 t", &["each document once", "\"a\" again for query \"q\", as in line 1"]),
        ] {
            let message = run(&format!("{good}# x\n\n{line}\n"));
            assert!(message.contains(":4: "), "{message}");
            assert!(message.contains("--lenient"), "{message}");
            for word in words {
                assert!(message.contains(word), "{message}");
            }
        }
        let qrels = |text: &str| {
            let read = |path: &Path| read_qrels(path, false, Run::silent());
            on_disk(text.as_bytes(), read).unwrap_err().to_string()
        };
        assert!(qrels("q 0 a 1\nq 0 a 1\n").contains("each document once"));
        assert!(qrels("q 0 a\n").contains("four fields"));
        assert!(qrels("q 0 a 1 2\n").contains("four fields"));
        assert!(qrels("q 0 a 1.5\n").contains("a whole number as the grade, found \"1.5\""));
        assert!(qrels("# nothing\n").contains("no judgments"));
        assert!(run("").contains("no results"));
        let latin = on_disk(b"q 0 a 1\nq 0 \xe9 1\n", |path| {
            read_qrels(path, false, Run::silent()).unwrap_err().to_string()
        });
        assert!(latin.contains(":2: expected text in UTF-8"), "{latin}");
    }

    #[test]
    fn a_lenient_reading_counts_what_it_leaves_out() {
        let text = "q 0 a 0 1 t\nq 0 a 0 9 t\nbad\nworse\nq 0 b 0 x t\nq 0 c 0 5 t\nq 0 a 0 3 t\n";
        let read = |path: &Path| read_run(path, true, Run::silent()).unwrap();
        let (run, dropped) = on_disk(text.as_bytes(), read);
        assert_eq!(ranked(&run), [("q", vec!["c", "a"])]);
        let counts: Vec<(&str, u64)> = dropped.iter().map(|d| (&*d.why, d.count)).collect();
        assert_eq!(
            counts,
            [
                ("fewer than six fields", 2),
                ("no score", 1),
                ("a document named before for the same query", 2)
            ]
        );
        assert!(dropped[2].samples[1].contains(":7: "), "{:?}", dropped[2].samples);
        let read = |path: &Path| read_run(path, true, Run::silent()).unwrap_err().to_string();
        assert!(on_disk(b"bad\n", read).contains("no results"));
    }

    proptest! {
        #[test]
        fn numbers_are_read_as_the_library_reads_them(
            text in "-?[0-9]{0,17}(\\.[0-9]{0,17})?(e-?[0-9]{1,2})?", score: f64, digits in 0usize..12,
        ) {
            for text in [text, score.to_string(), format!("{score:.digits$}"), format!("{score:e}")] {
                let expected: Option<f64> = text.parse().ok();
                prop_assert_eq!(number(&text).map(f64::to_bits), expected.map(f64::to_bits), "{}", text);
            }
        }

        #[test]
        fn a_run_read_is_the_run_sorted(
            lines in prop::collection::btree_map(
                ("q[0-3]", "(doc|doc00000000)?[a-c]{0,3}[0-9]{1,2}"), -3i32..3, 1..200),
            order in any::<u64>(),
        ) {
            let mut lines: Vec<_> = lines.into_iter().collect();
            crate::random::Random::new(order, 0).shuffle(&mut lines);
            let text: String =
                lines.iter().map(|((q, d), s)| format!("{q} Q0 {d} 1 {s}.5 t\n")).collect();
            let run = run_of(&text).unwrap();
            lines.sort_by(|((q, d), s), ((r, e), t)| q.cmp(r).then(t.cmp(s)).then(e.cmp(d)));
            let expected: Vec<(&str, &str)> =
                lines.iter().map(|((q, d), _)| (q.as_str(), d.as_str())).collect();
            let got: Vec<(&str, &str)> = run
                .queries()
                .flat_map(|query| query.hits().map(move |hit| (query.id, hit.doc)))
                .collect();
            prop_assert_eq!(got, expected);
            // Every third document of q1 is judged, and some that are not there.
            let judged: Vec<(&str, i32)> = (1..)
                .zip(lines.iter().filter(|((q, _), _)| q == "q1").step_by(3))
                .map(|(grade, ((_, d), _))| (d.as_str(), grade))
                .chain([("none", 7), ("", 8)])
                .collect();
            let qrels = Qrels::new(judged.iter().map(|&(doc, grade)| ("q1", doc, grade)));
            if let Some(place) = run.find("q1") {
                let query = run.query(place);
                let mut found: Vec<(usize, i32)> = qrels
                    .query(0)
                    .grades()
                    .filter_map(|(doc, grade)| Some((query.rank_of(doc)?, grade)))
                    .collect();
                found.sort_unstable();
                let mut noted = Vec::new();
                query.judged(&qrels.query(0), |rank, grade| noted.push((rank, grade)));
                noted.sort_unstable();
                prop_assert_eq!(&noted, &found);
                let grade = |doc: &str| judged.iter().find(|(other, _)| *other == doc);
                let expected: Vec<(usize, i32)> = query
                    .hits()
                    .enumerate()
                    .filter_map(|(rank, hit)| Some((rank, grade(hit.doc)?.1)))
                    .collect();
                prop_assert_eq!(found, expected);
            }
            let made = TrecRun::new(
                "t", lines.iter().map(|((q, d), s)| (&**q, &**d, f64::from(*s) + 0.5)));
            prop_assert_eq!(ranked(&made), ranked(&run));
        }
    }
}
