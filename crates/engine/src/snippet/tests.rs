use std::collections::HashSet;

use liken::text::{Analyzer, AnalyzerParams, Language};
use proptest::prelude::*;

use super::*;

fn analyzer() -> Analyzer {
    Analyzer::new(&AnalyzerParams::default()).unwrap()
}

fn terms(analyzer: &Analyzer, query: &str) -> HashSet<String> {
    analyzer.terms(query).into_iter().collect()
}

/// Marked words between brackets.
fn shown(fragments: &[Fragment]) -> String {
    let show = |fragment: &Fragment| match fragment.marked {
        true => format!("[{}]", fragment.text),
        false => fragment.text.clone(),
    };
    fragments.iter().map(show).collect()
}

fn marked(analyzer: &Analyzer, query: &str, text: &str) -> String {
    let terms = terms(analyzer, query);
    shown(&highlight(text, &|term| terms.contains(term), analyzer))
}

fn cut(query: &str, text: &str, most_chars: usize) -> String {
    let analyzer = analyzer();
    let terms = terms(&analyzer, query);
    shown(&fragments(text, &|term| terms.contains(term), &analyzer, most_chars))
}

/// The whole text in fragments, the words of the query marked.
fn highlight(
    text: &str,
    is_query_term: &dyn Fn(&str) -> bool,
    analyzer: &Analyzer,
) -> Vec<Fragment> {
    let looked_at = &text[..text.floor_char_boundary(LONGEST)];
    let marks = Marks::new(analyzer, is_query_term).of(looked_at);
    let mut fragments = Fragments::default();
    fragments.marked(text, 0, &marks);
    fragments.0
}

#[test]
fn words_are_marked_as_they_are_written() {
    let english = analyzer();
    let mark = |query, text| marked(&english, query, text);
    assert_eq!(
        mark("sun", "The Sun's SUN, (suns)-sunny <sun>"),
        "The [Sun]'s [SUN], ([suns])-sunny <[sun]>"
    );
    assert_eq!(mark("matching", "matched, Matches; match"), "[matched], [Matches]; [match]");
    assert_eq!(mark("the of", "the sun of"), "the sun of");
    assert_eq!(mark("usa", "in the U.S.A. today"), "in the [U.S.A]. today");
    assert_eq!(mark("an banana", "banana-an/ban_banana"), "[banana]-an/ban_[banana]");
    assert_eq!(mark("3.14", "π=3.14!"), "π=[3.14]!");
    assert_eq!(mark("fix", "a ﬁx"), "a [ﬁx]");
    assert_eq!(mark("strasse", "Hauptstraße, Straße"), "Hauptstraße, [Straße]");
    assert_eq!(mark("o'brien", "(O'BRIEN)"), "([O'BRIEN])");
    assert_eq!(mark("x", ""), "");
    assert_eq!(mark("", "a text"), "a text");
}

#[test]
fn accents_and_combining_marks() {
    let params = AnalyzerParams { strip_accents: true, ..Default::default() };
    let stripping = Analyzer::new(&params).unwrap();
    assert_eq!(marked(&stripping, "cafe", "Café, cafe\u{301}!"), "[Café], [cafe\u{301}]!");
    let keeping = analyzer();
    assert_eq!(marked(&keeping, "café", "Café, cafe\u{301}! cafe"), "[Café], [cafe\u{301}]! cafe");
    let german =
        Analyzer::new(&AnalyzerParams { language: Language::De, ..Default::default() }).unwrap();
    assert_eq!(marked(&german, "häuser", "(Häuser)"), "([Häuser])");
}

#[test]
fn words_without_spaces() {
    let english = analyzer();
    let mark = |query, text| marked(&english, query, text);
    assert_eq!(mark("北京", "我来到北京清华大学。"), "我来到[北京]清华大学。");
    assert_eq!(mark("iphone", "买iPhone手机。"), "买[iPhone]手机。");
    assert_eq!(mark("清华大学", "我来到北京清华大学"), "我来到北京[清华大学]");
    assert_eq!(mark("どこ", "東京タワーはどこ"), "東京タワーは[どこ]");
    assert_eq!(mark("はど", "はどど"), "[はど]ど");
}

#[test]
fn the_passage_with_most_different_words_is_shown() {
    let text = "One sun here. Nothing at all for a good long while in this part of it. \
                Then the sun and the moon, side by side. And again nothing for a long while.";
    let shown = cut("sun moon", text, 40);
    assert!(shown.contains("[sun] and the [moon]"), "{shown}");
    assert!(shown.starts_with('…') && shown.ends_with('…'), "{shown}");
    assert_eq!(cut("sun", "a sun", 100), "a [sun]");
    assert_eq!(cut("zebra", "far away from here", 10), "far away…");
    assert_eq!(cut("zebra", "far away from here", 0), "");
    assert_eq!(cut("x", "", 10), "");
    assert_eq!(cut("x", "  \n ", 10), "");
    assert_eq!(cut("a", "abcdefghijkl", 5), "abcde…");
    assert_eq!(cut("sun", "a!!!b!!!c!!!d!!!e!!!f!!!g!!!sun", 9), "…!!![sun]");
    let long = format!("{}北京{}", "清华大学".repeat(100), "清华大学".repeat(100));
    let shown = cut("北京", &long, 30);
    assert!(shown.contains("[北京]") && shown.chars().count() <= 34, "{shown}");
}

proptest! {
    #[test]
    fn pieces_are_the_text(text in "\\PC{0,80}|[ab é'.-]{0,60}|([a-c北京はどこ]{1,5}[ ,\n]){0,20}",
                           query in "[a-c北京はどこé ]{0,8}", most in 0usize..50) {
        let analyzer = analyzer();
        let terms = terms(&analyzer, &query);
        let is_term = |term: &str| terms.contains(term);
        let whole = highlight(&text, &is_term, &analyzer);
        let joined: String = whole.iter().map(|fragment| fragment.text.as_str()).collect();
        prop_assert_eq!(&joined, &text);
        prop_assert!(whole.iter().all(|fragment| !fragment.text.is_empty()));
        // Something is marked if and only if a word of the query is there.
        let mut any = false;
        analyzer.words(&text, &mut |_, term| any |= is_term(term));
        prop_assert_eq!(any, whole.iter().any(|fragment| fragment.marked), "{}", shown(&whole));

        let fragments = fragments(&text, &is_term, &analyzer, most);
        let joined: String = fragments.iter().map(|fragment| fragment.text.as_str()).collect();
        prop_assert!(joined.chars().count() <= most + 2);
        if text.chars().count() <= most {
            prop_assert_eq!(joined, text.trim());
        } else if most > 0 {
            let inner = joined.strip_prefix('…').unwrap_or(&joined);
            let inner = inner.strip_suffix('…').unwrap_or(inner);
            prop_assert!(text.contains(inner) || text.contains(&joined), "{}", joined);
        }
        if any && most >= 20 {
            prop_assert!(fragments.iter().any(|fragment| fragment.marked), "{}", shown(&fragments));
        }
    }

    /// Where words are plain, the marked ones are those whose term is in the query, no more.
    #[test]
    fn marked_words_are_the_words_of_the_query(
        words in prop::collection::vec(("[a-cA-C]{1,6}", "[ ,.!-]|, |\n"), 0..30),
        query in prop::collection::vec("[a-c]{1,3}", 0..6),
    ) {
        let analyzer = analyzer();
        let terms = terms(&analyzer, &query.join(" "));
        let text: String = words.iter().flat_map(|(w, s)| [w.as_str(), s]).collect();
        // A full stop between single letters joins them to one word.
        prop_assume!(!text.contains('.'));
        let whole = highlight(&text, &|term| terms.contains(term), &analyzer);
        let got: Vec<_> = whole.into_iter().filter(|p| p.marked).map(|p| p.text).collect();
        let is_one = |word: &&String| analyzer.terms(word).iter().any(|t| terms.contains(t));
        let expected: Vec<_> = words.iter().map(|(word, _)| word).filter(is_one).cloned().collect();
        prop_assert_eq!(got, expected);
    }
}
