//! The split of a task into training, validation and test.
//!
//! Where two documents link to each other, both links go to the same split: one of them in training
//! would give away the other in test. So a split may have one link more than its share.

use super::super::log::Log;
use super::super::pairs::Edge;
use super::super::split::{Split, SplitPairs, mix};
use super::super::split_name::SplitName;
use super::super::task_params::{TaskParams, TaskSplit};
use crate::{Error, Result};

/// The links of a task by split.
pub(super) struct SplitLinks {
    pub divided: SplitPairs,
    /// Links dropped because their ends lie in different splits.
    pub crossing: u64,
    /// Training links dropped because of `share`.
    pub beyond_share: u64,
}

impl TaskParams {
    /// Splits `edges`, which are sorted.
    pub(super) fn split_links(
        &self,
        edges: Vec<Edge>,
        log: &Log,
        split: &Split,
    ) -> Result<SplitLinks> {
        if edges.is_empty() {
            return Err(Error::Empty {
                what: "there are no links to split".into(),
                advice: "check that links and documents belong together".into(),
            });
        }
        let query_keys = split.keys(b"query", &log.queries.names);
        let document_keys = split.keys(b"document", &log.documents);
        let asked = self.queries_are_documents();
        let key = |edge: &Edge| {
            let to = mix(document_keys[edge.doc as usize]);
            match asked {
                // The same in both directions.
                true => mix(mix(document_keys[edge.query as usize]) ^ to),
                false => mix(query_keys[edge.query as usize] ^ to),
            }
        };
        let order = |(key, edge, _): &(u64, Edge, SplitName)| {
            let ends = (edge.query, edge.doc);
            (*key, if asked { (ends.0.min(ends.1), ends.0.max(ends.1)) } else { ends }, ends)
        };
        let together = |a: &(u64, Edge, SplitName), b: &(u64, Edge, SplitName)| {
            let mutual = (a.1.query, a.1.doc) == (b.1.doc, b.1.query);
            asked && mutual
        };
        let mut set_aside = Vec::new();
        let mut held_out_documents = Vec::new();
        let mut keyed: Vec<(u64, Edge, SplitName)> = Vec::with_capacity(edges.len());
        match self.split {
            TaskSplit::Links => {
                keyed.extend(edges.iter().map(|edge| (key(edge), *edge, SplitName::Train)));
                keyed.sort_unstable_by_key(order);
                let (validation, test) = split.sizes(keyed.len());
                let mut done = 0;
                for links in keyed.chunk_by_mut(together) {
                    let part = match done {
                        rank if rank < validation => SplitName::Validation,
                        rank if rank < validation + test => SplitName::Test,
                        _ => SplitName::Train,
                    };
                    links.iter_mut().for_each(|link| link.2 = part);
                    done += links.len();
                }
            }
            TaskSplit::Documents => {
                let asking = edges.iter().filter(|_| asked).map(|edge| edge.query);
                let ends = edges.iter().map(|edge| edge.doc).chain(asking);
                let parts = split.parts(b"document", ends, &log.documents);
                for edge in &edges {
                    let part = parts[edge.doc as usize];
                    if asked && parts[edge.query as usize] != part {
                        set_aside.push((edge.query, edge.doc));
                    } else {
                        keyed.push((key(edge), *edge, part));
                    }
                }
                keyed.sort_unstable_by_key(order);
                let held_out = (0..).zip(&parts).filter(|(_, part)| **part != SplitName::Train);
                held_out_documents = held_out.map(|(doc, _)| doc).collect();
            }
        }

        let crossing = set_aside.len() as u64;
        let n_links = keyed.len();
        let in_training = keyed.iter().filter(|(.., part)| *part == SplitName::Train).count();
        let kept = match self.share {
            None => in_training,
            Some(share) => {
                let kept = ((share * n_links as f64).round() as usize).max(1);
                if kept > in_training {
                    let most = in_training as f64 / n_links.max(1) as f64;
                    let expected = format!(
                        "at most {most:.3}: validation and test leave {in_training} of {n_links} links"
                    );
                    return Err(Error::parameter("share", share, &expected));
                }
                kept
            }
        };
        let mut divided = SplitPairs {
            train: Vec::with_capacity(kept),
            set_aside,
            held_out_documents,
            ..SplitPairs::default()
        };
        // In the order of the hash, so that a smaller share is a part of a larger one.
        for links in keyed.chunk_by(together) {
            let within_share = divided.train.len() < kept;
            for (_, edge, part) in links {
                let graded = (edge.query, edge.doc, if edge.weight > 0.0 { 1.0 } else { 0.0 });
                match part {
                    SplitName::Train if within_share => divided.train.push(*edge),
                    SplitName::Train => divided.set_aside.push((edge.query, edge.doc)),
                    SplitName::Validation => divided.validation.push(graded),
                    SplitName::Test => divided.test.push(graded),
                }
            }
        }
        let beyond_share = (in_training - divided.train.len()) as u64;
        divided.train.sort_unstable_by_key(|edge| (edge.query, edge.doc));
        for pairs in [&mut divided.validation, &mut divided.test] {
            pairs.sort_unstable_by_key(|&(query, doc, _)| (query, doc));
        }
        let parts = [
            ("training", divided.train.len(), true),
            ("validation", divided.validation.len(), self.validation > 0.0),
            ("test", divided.test.len(), self.test > 0.0),
        ];
        if let Some((name, ..)) = parts.into_iter().find(|&(_, n, asked)| asked && n == 0) {
            return Err(Error::Empty {
                what: format!(
                    "{name} is empty: {n_links} links are too few to split, {crossing} more lie between splits"
                ),
                advice:
                    "change the shares (`validation`, `test`), or split by links (`split = links`)"
                        .into(),
            });
        }
        Ok(SplitLinks { divided, crossing, beyond_share })
    }
}
