//! Example queries: those of the dataset with the most clicks, and those with held-out judgments.

use liken::data::Dataset;
use liken_engine::Engine;

/// The most queries of a long log that are read, in even steps.
const MOST_READ: usize = 20_000;

/// Up to `n` of the most clicked queries of the index's dataset.
pub fn queries(engine: &Engine, n: usize) -> Vec<String> {
    engine.dataset().map_or_else(Vec::new, |dataset| most_clicked(dataset, n))
}

/// The most clicked queries, among equals those with test judgments first; each text once, up to
/// case.
pub fn most_clicked(dataset: &Dataset, n: usize) -> Vec<String> {
    let len = dataset.queries.len();
    let step = len.div_ceil(MOST_READ).max(1);
    let mut found: Vec<(f64, bool, String)> = (0..len)
        .step_by(step)
        .filter_map(|i| {
            let query = dataset.queries.get(i).ok()?;
            let tested = i < dataset.test.n_rows() && !dataset.test.row(i).is_empty();
            Some((query.clicks, tested, query.text))
        })
        .filter(|(_, _, text)| !text.trim().is_empty())
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    let mut seen = std::collections::HashSet::new();
    let distinct = found.into_iter().filter(|(_, _, text)| seen.insert(text.to_lowercase()));
    distinct.take(n).map(|(_, _, text)| text).collect()
}

/// Up to `n` queries with held-out judgments, in the order of the dataset.
pub fn judged(dataset: &Dataset, n: usize) -> Vec<String> {
    let rows = dataset.test.n_rows().min(dataset.queries.len());
    let tested = (0..rows).filter(|&i| !dataset.test.row(i).is_empty());
    let texts = tested.filter_map(|i| dataset.queries.get(i).ok()).map(|query| query.text);
    texts.filter(|text| !text.trim().is_empty()).take(n).collect()
}

#[cfg(test)]
mod tests {
    use liken::data::{DatasetAbout, DatasetWriter, Document, Query, RelevanceSource};
    use liken::sparse::Csr;

    use super::*;

    #[test]
    fn the_most_clicked_come_first_and_each_text_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        let mut writer = DatasetWriter::create(&path, false).unwrap();
        let queries = [("rare", 1.0), ("often", 9.0), ("Often", 8.0), (" ", 99.0), ("tested", 1.0)];
        for (i, (text, clicks)) in queries.iter().enumerate() {
            let query = Query { id: format!("q{i}"), text: text.to_string(), clicks: *clicks };
            writer.query(&query).unwrap();
        }
        writer.document(&Document { id: "d".into(), fields: Default::default() }).unwrap();
        let clicks = Csr::from_triplets(5, 1, vec![(0, 0, 1.0)]).unwrap();
        let test = Csr::from_triplets(5, 1, vec![(4, 0, 1.0)]).unwrap();
        let about = DatasetAbout::as_given(RelevanceSource::Judgments);
        writer.finish(&clicks, &Csr::empty(5, 1), &test, &[], about).unwrap();
        let dataset = Dataset::open(&path).unwrap();
        assert_eq!(most_clicked(&dataset, 9), ["often", "tested", "rare"]);
        assert_eq!(most_clicked(&dataset, 1), ["often"]);
        assert_eq!(judged(&dataset, 9), ["tested"]);
    }
}
