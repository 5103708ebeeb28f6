//! Writes synonyms in the formats of search engines.

use std::io::{self, Write};

use serde_json::json;

use super::{SynonymFormat, Synonyms};

impl Synonyms {
    /// Writes the list.
    pub fn write(&self, out: &mut impl Write, format: SynonymFormat) -> io::Result<()> {
        match format {
            SynonymFormat::Solr => self.write_solr(out),
            SynonymFormat::Elasticsearch => self.write_elasticsearch(out),
            SynonymFormat::Tsv => self.write_tsv(out),
        }
    }

    fn write_solr(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(
            out,
            "# Learnt by liken. For queries alone: after lower-casing, before stemming."
        )?;
        for rule in &self.rules {
            // A comment ends with its line, and no word holds a line break.
            let scores = rule.synonyms.iter().map(|(word, score)| format!("{word} {score:.3}"));
            writeln!(out, "# {}", scores.collect::<Vec<_>>().join(", "))?;
            for word in &rule.words {
                writeln!(out, "{}", explicit(word, &rule.synonyms))?;
            }
        }
        Ok(())
    }

    fn write_elasticsearch(&self, out: &mut impl Write) -> io::Result<()> {
        let rules = self.rules.iter().flat_map(|rule| {
            rule.words
                .iter()
                .map(|word| json!({ "id": word, "synonyms": explicit(word, &rule.synonyms) }))
        });
        let body = json!({ "synonyms_set": rules.collect::<Vec<_>>() });
        serde_json::to_writer_pretty(&mut *out, &body)?;
        writeln!(out)
    }

    fn write_tsv(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "word\tsynonym\tscore")?;
        for rule in &self.rules {
            for word in &rule.words {
                for (synonym, score) in &rule.synonyms {
                    writeln!(out, "{word}\t{synonym}\t{score:.4}")?;
                }
            }
        }
        Ok(())
    }
}

/// A rule that keeps the word and adds its synonyms: `car => car, automobile`.
fn explicit(word: &str, synonyms: &[(String, f64)]) -> String {
    let word = escaped(word);
    let mut rule = format!("{word} => {word}");
    for (synonym, _) in synonyms {
        rule.push_str(", ");
        rule.push_str(&escaped(synonym));
    }
    rule
}

/// Escapes the special characters of the formats by a backslash.
pub(super) fn escaped(word: &str) -> String {
    let mut text = String::with_capacity(word.len());
    for c in word.chars() {
        if matches!(c, ',' | '=' | '>' | '#' | '\\') {
            text.push('\\');
        }
        text.push(c);
    }
    text
}
