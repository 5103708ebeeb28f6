//! The training documents as one text: what is counted of them once, so that documents which come
//! later can be weighed as often as some come.

use super::Counts;

/// The training documents as one text.
#[derive(Debug, Clone, PartialEq)]
pub struct Collection {
    /// How many of them have a word at all.
    pub n_docs: usize,
    /// How many words they have together.
    pub length: f64,
    /// How often every term occurs in them.
    pub occurrences: Vec<f64>,
}

impl Counts {
    /// The training documents as one text; counted when it is first asked for.
    pub fn collection(&self) -> &Collection {
        self.collection.get_or_init(|| {
            let occurrences = vec![0.0; self.n_terms()];
            let mut all = Collection { n_docs: 0, length: 0.0, occurrences };
            for (j, row) in self.docs.rows().enumerate() {
                if row.is_empty() || self.held_out_documents.binary_search(&(j as u32)).is_ok() {
                    continue;
                }
                all.n_docs += 1;
                all.length += row.values.iter().map(|&f| f64::from(f)).sum::<f64>();
                row.iter().for_each(|(term, f)| all.occurrences[term as usize] += f64::from(f));
            }
            all
        })
    }
}
