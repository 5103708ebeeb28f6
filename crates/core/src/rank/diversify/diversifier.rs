//! A diversifier as a file: a method with its learnt or tuned parameters, and its inputs.

use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Candidates, Mmr, RLtr};
use crate::file::NewFile;
use crate::rank::RankReport;
use crate::{Error, Result};

/// The newest format of the file.
const FORMAT: u32 = 1;

/// A method of diversification with its parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "kebab-case")]
pub enum DiversifyMethod {
    /// Maximal marginal relevance.
    Mmr {
        /// Its parameters.
        params: Mmr,
        /// The name of the similarity.
        similarity: String,
    },
    /// R-LTR with learnt weights.
    RLtr {
        /// The weights.
        weights: RLtr,
    },
}

/// A method of diversification and its inputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Diversifier {
    format: u32,
    /// The number of runs whose scores are relevance scores.
    pub runs: usize,
    /// The names of the similarities of documents.
    pub relations: Vec<String>,
    /// The method and its parameters.
    #[serde(flatten)]
    pub method: DiversifyMethod,
    /// The report of its training.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<RankReport>,
}

impl Diversifier {
    /// A diversifier of the results of `runs` runs by `relations`. An error if the method needs other
    /// inputs.
    pub fn new(runs: usize, relations: Vec<String>, method: DiversifyMethod) -> Result<Self> {
        let made = Diversifier { format: FORMAT, runs, relations, method, report: None };
        made.kind()?;
        Ok(made)
    }

    /// The place of the similarity of maximal marginal relevance, 0 for R-LTR. An error if the
    /// parameters do not fit the inputs.
    fn kind(&self) -> Result<usize> {
        match &self.method {
            DiversifyMethod::Mmr { params, similarity } => {
                params.check()?;
                let found = self.relations.iter().position(|name| name == similarity);
                found.ok_or_else(|| Error::Unknown {
                    kind: "similarity of documents",
                    name: similarity.clone(),
                    advice: format!("the models have {}", self.relations.join(", ")),
                })
            }
            DiversifyMethod::RLtr { weights } => {
                let found = (weights.relevance.len(), weights.relations.len());
                let numbers = weights.relational.names().len();
                if found == (self.runs, self.relations.len() * numbers) {
                    return Ok(0);
                }
                let expected = "one weight per run, and one or three per relation";
                Err(Error::parameter("weights", format!("{found:?}"), expected))
            }
        }
    }

    /// The order of `candidates`: the best `k` chosen greedily, then the others.
    ///
    /// # Panics
    /// If the candidates have fewer similarities than the diversifier was made for.
    pub fn order(&self, candidates: &Candidates, k: usize) -> Vec<usize> {
        match &self.method {
            // `new` and `open` have checked the similarity.
            DiversifyMethod::Mmr { params, .. } => {
                params.order_of(candidates, self.kind().unwrap_or_default(), k)
            }
            DiversifyMethod::RLtr { weights } => weights.order(candidates, k),
        }
    }

    /// An error unless the number of runs and the relations are those of training.
    pub fn check_inputs(&self, path: &Path, runs: usize, relations: &[String]) -> Result<()> {
        if runs != self.runs {
            return Err(Error::Unusable {
                path: path.to_owned(),
                problem: format!("expected the runs of training ({}), found {runs}", self.runs),
                advice: "name the runs of training, in the same order".into(),
            });
        }
        if relations != self.relations {
            return Err(Error::Unusable {
                path: path.to_owned(),
                problem: format!(
                    "it uses the similarities {}, but the models have {}",
                    self.relations.join(", "),
                    relations.join(", ")
                ),
                advice: "name the models of training, in the same order".into(),
            });
        }
        Ok(())
    }

    /// Writes the file at `path`, replacing what is there.
    pub fn save(&self, path: &Path) -> Result<()> {
        let file = NewFile::create(path)?;
        let mut text = serde_json::to_vec_pretty(self)
            .map_err(|error| Error::damaged(path, error.to_string()))?;
        text.push(b'\n');
        file.writer()?.write_all(&text).map_err(Error::io("write", path))?;
        file.commit()
    }

    /// Reads the file at `path`.
    pub fn open(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(Error::io("read", path))?;
        let unusable = |error: String| Error::Unusable {
            path: path.to_owned(),
            problem: format!("not a diversifier: {error}"),
            advice: "train a diversifier, and name the file that training writes".into(),
        };
        let value: serde_json::Value =
            serde_json::from_str(&text).map_err(|error| unusable(error.to_string()))?;
        let format = value.get("format").and_then(serde_json::Value::as_u64);
        if let Some(found) = format.filter(|&found| found > u64::from(FORMAT)) {
            let found = u32::try_from(found).unwrap_or(u32::MAX);
            return Err(Error::Newer { path: path.to_owned(), found, supported: FORMAT });
        }
        let read: Diversifier =
            serde_json::from_value(value).map_err(|error| unusable(error.to_string()))?;
        read.kind().map_err(|error| unusable(error.to_string()))?;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::rank::diversify::{Relational, Similarities};

    fn names() -> Vec<String> {
        ["words", "latent"].map(str::to_owned).to_vec()
    }

    #[test]
    fn what_is_read_back_orders_as_what_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("diversifier.json");
        let mut random = Random::new(1, 0);
        for turn in 0..20 {
            let mut weights = |n: usize| (0..n).map(|_| random.normal() as f32 / 3.0).collect();
            let (relevance, relations) = (weights(3), weights(6));
            let weights = RLtr { relational: Relational::All, relevance, relations };
            let method = match turn {
                0 => DiversifyMethod::Mmr { params: Mmr::default(), similarity: "latent".into() },
                _ => DiversifyMethod::RLtr { weights },
            };
            let mut made = Diversifier::new(3, names(), method).unwrap();
            made.report = Some(RankReport::default());
            made.save(&path).unwrap();
            let read = Diversifier::open(&path).unwrap();
            assert_eq!(read, made);
            let mut some = |n: usize| (0..n).map(|_| random.uniform()).collect::<Vec<f64>>();
            let similarities = Similarities::new(30).with_given(some(900)).with_given(some(900));
            let candidates = Candidates::new(some(90), similarities);
            assert_eq!(read.order(&candidates, 30), made.order(&candidates, 30));
        }
    }

    #[test]
    fn a_copy_comes_after_what_says_something_else() {
        // The second says what the first says, the third something else; both matter less.
        let scores = vec![1.0, 0.9, 0.5];
        let similar = vec![1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0];
        let candidates = |similar: Vec<f64>| {
            Candidates::new(scores.clone(), Similarities::new(3).with_given(similar))
        };
        let mmr = |lambda: f64| DiversifyMethod::Mmr {
            params: Mmr { lambda, ..Mmr::default() },
            similarity: "words".into(),
        };
        let r_ltr = |novelty: f32| DiversifyMethod::RLtr {
            weights: RLtr {
                relational: Relational::Minimal,
                relevance: vec![1.0],
                relations: vec![novelty],
            },
        };
        for (method, expected) in [
            (mmr(1.0), [0, 1, 2]),
            (mmr(0.5), [0, 2, 1]),
            (r_ltr(0.0), [0, 1, 2]),
            (r_ltr(1.0), [0, 2, 1]),
        ] {
            let made = Diversifier::new(1, vec!["words".into()], method.clone()).unwrap();
            assert_eq!(made.order(&candidates(similar.clone()), 3), expected, "{method:?}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mmr = |similarity: &str, lambda: f64| {
            let params = Mmr { lambda, ..Mmr::default() };
            Diversifier::new(
                1,
                names(),
                DiversifyMethod::Mmr { params, similarity: similarity.into() },
            )
        };
        let message = mmr("title", 0.5).unwrap_err().to_string();
        assert!(message.contains("the models have words, latent"), "{message}");
        assert!(mmr("words", 2.0).is_err());
        let weights =
            RLtr { relational: Relational::All, relevance: vec![1.0], relations: vec![1.0; 2] };
        assert!(
            Diversifier::new(1, names(), DiversifyMethod::RLtr { weights: weights.clone() })
                .is_err()
        );
        let weights = RLtr { relational: Relational::Minimal, ..weights };
        let made = Diversifier::new(1, names(), DiversifyMethod::RLtr { weights }).unwrap();
        let path = Path::new("some.json");
        made.check_inputs(path, 1, &names()).unwrap();
        let message = made.check_inputs(path, 2, &names()).unwrap_err().to_string();
        assert!(message.contains("the runs of training (1), found 2"), "{message}");
        assert!(made.check_inputs(path, 1, &names()[..1]).is_err());
    }
}
