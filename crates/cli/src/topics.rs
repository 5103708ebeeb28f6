//! `liken topics`: the topics that a model has learnt, as tables, JSON or a page.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::bail;
use clap::{Args, ValueEnum};
use liken::export::surface_forms;
use liken::matchers::{Model, TextTopics, TopicSummary, TopicSummaryOptions, TopicsSummary};
use liken_pages::shorten;
use serde::Serialize;

use crate::console::{Console, usage};
use crate::output::{Grid, TableFormat, grouped, is_stdout, json, remark, write_file};
use crate::runs::check_output;
use crate::search::DocTexts;
use crate::topics_figures::{npmi, percent, remarks, weight};
use crate::topics_page::page;

const EXAMPLES: &str = "\
Share: the topic's share of the documents (its mean absolute weight, divided by that of all topics).
NPMI: coherence of its ten heaviest words, from -1 (never in the same document) over 0 (independent)
to 1 (always together). AvgComp: mean share of the vocabulary in a topic.

Examples:
  liken train lsi data -o model --dim 20
  liken topics model                                  every topic by its words
  liken topics model --sort coherence --top 5         the five best
  liken topics model --html topics.html               a page with a map of the topics
  liken topics model --text \"price of oil\"            the topics of a text
  liken topics model --whole-words --documents --format json";

/// Show the topics that a model has learnt.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct TopicsArgs {
    /// Model folder.
    model: PathBuf,

    /// The model of a mix, by its method [default: the first with topics].
    #[arg(long, value_name = "NAME")]
    part: Option<String>,

    /// Words to show per topic.
    #[arg(long, default_value_t = 10, value_name = "N",
        value_parser = clap::value_parser!(u16).range(1..=1000))]
    words: u16,

    /// Show only the first N topics.
    #[arg(long, value_name = "N")]
    top: Option<usize>,

    /// Order of the topics.
    #[arg(long, value_enum, default_value_t)]
    sort: Order,

    /// Show only the topics of this class; `shared` for those that all classes share.
    #[arg(long, value_name = "NAME")]
    class: Option<String>,

    /// Show the topics of this text instead.
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["class", "documents", "html"])]
    text: Option<String>,

    /// Show words in their most frequent form in the documents (police), not as stems (polic); this
    /// reads all documents.
    #[arg(long)]
    whole_words: bool,

    /// Also show the documents in which each topic is strongest.
    #[arg(long)]
    documents: bool,

    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: TableFormat,

    /// Write an HTML page with a map of the topics.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Replace the page if it exists.
    #[arg(long, requires = "html")]
    force: bool,

    /// Dataset folder, if it was moved since training (for titles and whole words).
    #[arg(long, value_name = "DIR")]
    dataset: Option<PathBuf>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Order {
    /// By number.
    #[default]
    Number,
    /// Largest share first.
    Share,
    /// Best NPMI first.
    Coherence,
}

/// Documents shown per topic.
const DOCUMENTS: usize = 5;

/// Topics per row on the terminal.
const COLUMNS: usize = 4;

/// Limit of characters of a word on the terminal.
const WORD: usize = 14;

pub fn run(args: &TopicsArgs, console: &Console) -> anyhow::Result<()> {
    if let Some(path) = &args.html {
        if is_stdout(path) {
            return Err(usage("--html -: expected a file to write the page to"));
        }
        check_output(path, args.force)?;
    }
    let model = Model::open(&args.model)?;
    let with_documents = args.documents || args.html.is_some();
    let options = TopicSummaryOptions {
        words: args.words.into(),
        documents: if with_documents { DOCUMENTS } else { 0 },
        map: args.html.is_some(),
        ..TopicSummaryOptions::default()
    };
    let part = args.part.as_deref();
    let mut summary = console.run(|run| TopicsSummary::of(&model, part, &options, run))?;
    let texts = (with_documents || args.whole_words)
        .then(|| DocTexts::open(&model, args.dataset.as_deref()));
    if let Some(reason) = texts.as_ref().and_then(|texts| texts.missing.as_ref()) {
        console.warn(format!("no titles and no whole words: {reason}"));
    }
    let dataset = texts.as_ref().and_then(|texts| texts.dataset.as_ref());
    if let Some(dataset) = dataset.filter(|_| args.whole_words) {
        let mut words: Vec<&mut String> = summary
            .topics
            .iter_mut()
            .flat_map(|topic| topic.words.iter_mut().map(|word| &mut word.word))
            .collect();
        let terms = words.iter().map(|word| word.as_str());
        let forms = console.run(|run| surface_forms(&model, dataset, terms, run))?;
        for word in &mut words {
            if let Some(form) = forms.get(word.as_str()) {
                form.clone_into(word);
            }
        }
    }
    let text = match &args.text {
        Some(text) => {
            let query = model.read_query(text)?;
            let found = TextTopics::of(&model, part, &query, &summary)?;
            if !found.unknown.is_empty() {
                console.warn(format!("the model does not know {}", found.unknown.join(", ")));
            }
            if found.topics.is_empty() {
                console.warn("no topic has any word of the text");
            }
            Some((text, found))
        }
        None => None,
    };
    select(&mut summary, args)?;
    if let Some(path) = &args.html {
        let html = page(&summary, &model.about.name, texts.as_ref());
        write_file(path, |out| Ok(out.write_all(html.as_bytes())?))?;
        console.note(format!("wrote {}", path.display()));
    }
    if !args.documents {
        summary.topics.iter_mut().for_each(|topic| topic.documents.clear());
    }
    let mut out = console.out();
    match (text, args.format) {
        (Some((text, found)), TableFormat::Json) => {
            json(&mut out, &Text { text, topics: &found })?;
        }
        (Some((_, found)), format) => write_text(&mut out, &found, args.top, format)?,
        (None, TableFormat::Json) => json(&mut out, &summary)?,
        (None, format) => {
            about(&mut out, &summary, format)?;
            // Topics without words are only counted, which `about` does.
            summary.topics.retain(|topic| topic.n_words > 0);
            match format {
                TableFormat::Table => write_blocks(&mut out, &summary)?,
                _ => write_rows(&mut out, &summary, format)?,
            }
            if args.documents {
                write_documents(&mut out, &summary, texts.as_ref(), format)?;
            }
        }
    }
    Ok(out.flush()?)
}

/// A text with its topics.
#[derive(Serialize)]
struct Text<'a> {
    text: &'a str,
    #[serde(flatten)]
    topics: &'a TextTopics,
}

/// Filters, sorts and cuts the topics as the flags say.
fn select(summary: &mut TopicsSummary, args: &TopicsArgs) -> anyhow::Result<()> {
    if let Some(name) = &args.class {
        match summary.find_class(name) {
            Ok(_) => summary.topics.retain(|topic| topic.class.as_ref() == Some(name)),
            Err(_) if name == "shared" => summary.topics.retain(|topic| topic.class.is_none()),
            Err(error) => bail!(error),
        }
    }
    let none = f64::NEG_INFINITY;
    match args.sort {
        Order::Number => {}
        Order::Share => summary.topics.sort_by(|a, b| b.share.total_cmp(&a.share)),
        Order::Coherence => {
            summary.topics.sort_by(|a, b| b.npmi.unwrap_or(none).total_cmp(&a.npmi.unwrap_or(none)))
        }
    }
    summary.topics.truncate(args.top.unwrap_or(usize::MAX));
    Ok(())
}

fn about(out: &mut impl Write, summary: &TopicsSummary, format: TableFormat) -> io::Result<()> {
    for line in remarks(summary) {
        remark(out, format, &line)?;
    }
    if format == TableFormat::Table {
        writeln!(out)?;
    }
    Ok(())
}

/// Writes topics side by side, one word per line.
fn write_blocks(out: &mut impl Write, summary: &TopicsSummary) -> io::Result<()> {
    let columns: Vec<Vec<[String; 2]>> = summary.topics.iter().map(column).collect();
    for (b, block) in columns.chunks(COLUMNS).enumerate() {
        if b > 0 {
            writeln!(out)?;
        }
        let height = block.iter().map(Vec::len).max().unwrap_or(0);
        // An empty column between two topics, so that a weight and the next word stand apart.
        let cells = |row: usize| {
            let mut cells = Vec::with_capacity(3 * block.len());
            for column in block {
                cells.extend((!cells.is_empty()).then(String::new));
                cells.extend(column.get(row).cloned().unwrap_or_default());
            }
            cells
        };
        let left: Vec<usize> = (0..block.len()).map(|c| 3 * c).collect();
        let mut grid = Grid::new(cells(0)).left(&left);
        (1..height).for_each(|row| grid.row(cells(row)));
        grid.write(out, TableFormat::Table)?;
    }
    Ok(())
}

/// The cells of a topic, from top to bottom: number, figures, and words with their weights.
fn column(topic: &TopicSummary) -> Vec<[String; 2]> {
    let name = match &topic.class {
        Some(class) => shorten(&format!("{} {class}", topic.topic), WORD),
        None => format!("topic {}", topic.topic),
    };
    let mut cells = vec![
        [name, percent(topic.share)],
        ["· NPMI".into(), npmi(topic.npmi)],
        ["· words".into(), grouped(topic.n_words)],
    ];
    for word in &topic.words {
        cells.push([shorten(&word.word, WORD), weight(word.weight)]);
    }
    cells
}

/// Writes one row per topic, for Markdown and LaTeX.
fn write_rows(
    out: &mut impl Write,
    summary: &TopicsSummary,
    format: TableFormat,
) -> io::Result<()> {
    let classes = !summary.classes.is_empty();
    let mut heading = vec!["topic"];
    heading.extend(classes.then_some("class"));
    heading.extend(["share", "strongest in", "NPMI", "words", "heaviest words"]);
    let last = heading.len() - 1;
    let mut grid = Grid::new(heading).left(&[usize::from(classes), last]);
    for topic in &summary.topics {
        let words: Vec<String> =
            topic.words.iter().map(|w| format!("{} {}", w.word, weight(w.weight))).collect();
        let mut cells = vec![topic.topic.to_string()];
        cells.extend(classes.then(|| topic.class.clone().unwrap_or_else(|| "shared".into())));
        cells.extend([
            percent(topic.share),
            grouped(topic.strongest_in),
            npmi(topic.npmi),
            grouped(topic.n_words),
            words.join(", "),
        ]);
        grid.row(cells);
    }
    grid.write(out, format)
}

fn write_documents(
    out: &mut impl Write,
    summary: &TopicsSummary,
    texts: Option<&DocTexts>,
    format: TableFormat,
) -> io::Result<()> {
    writeln!(out)?;
    let mut grid = Grid::new(["topic", "weight", "document", "title"]).left(&[2, 3]);
    for topic in &summary.topics {
        for document in &topic.documents {
            let title = texts.map(|texts| texts.title(document.doc)).unwrap_or_default();
            let name = topic.topic.to_string();
            grid.row([name, weight(document.weight), document.id.clone(), title]);
        }
    }
    grid.write(out, format)
}

fn write_text(
    out: &mut impl Write,
    found: &TextTopics,
    top: Option<usize>,
    format: TableFormat,
) -> io::Result<()> {
    if let Some(class) = &found.class {
        remark(out, format, &format!("best class: {class}"))?;
    }
    let classes = found.class.is_some();
    let mut heading = vec!["topic", "weight", "share"];
    heading.extend(classes.then_some("class"));
    heading.push("words");
    let last = heading.len() - 1;
    let mut grid = Grid::new(heading).left(&[3, last]);
    for topic in found.topics.iter().take(top.unwrap_or(TEXT_TOPICS)) {
        let mut cells = vec![topic.topic.to_string(), weight(topic.weight), percent(topic.share)];
        cells.extend(classes.then(|| topic.class.clone().unwrap_or_else(|| "shared".into())));
        // One line on the terminal; all words in other formats.
        let words = topic.words.join(" ");
        cells.push(if format == TableFormat::Table { shorten(&words, 70) } else { words });
        grid.row(cells);
    }
    grid.write(out, format)
}

/// Topics shown of a text unless `--top` is given.
const TEXT_TOPICS: usize = 10;
