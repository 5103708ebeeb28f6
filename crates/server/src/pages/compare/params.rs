//! The parameters of the Compare page: systems, judgments and measures.

use std::sync::Arc;

use liken::eval::{Candidates, HeldOut};
use liken_engine::ServedModel;

use crate::pages::page_params::PageParams;
use crate::problem::Problem;
use crate::runs::UploadedRun;

/// The most systems in a table.
pub const MOST_SYSTEMS: usize = 12;
/// The default measures.
pub const MEASURES: &str = "nDCG@10, nDCG@1, AP, RR";
/// The prefix of uploaded runs' names in an address.
pub const UPLOADED: &str = "run:";

/// A system of the comparison: a row of the table.
#[derive(Clone)]
pub enum System {
    /// An active model.
    Model(Arc<ServedModel>),
    /// A run that was uploaded.
    Uploaded(UploadedRun),
}

impl System {
    /// Its name in an address.
    pub fn key(&self) -> String {
        match self {
            System::Model(_) => self.name().to_owned(),
            System::Uploaded(run) => format!("{UPLOADED}{}", run.name),
        }
    }

    /// Its name in a table.
    pub fn name(&self) -> &str {
        match self {
            System::Model(served) => &served.about.model.name,
            System::Uploaded(run) => &run.name,
        }
    }

    /// Its version, which changes with the content.
    pub fn version(&self) -> &str {
        match self {
            System::Model(served) => &served.about.model.version,
            System::Uploaded(run) => &run.version,
        }
    }

    /// The model's name, if it is a model.
    pub fn model(&self) -> Option<&str> {
        matches!(self, System::Model(_)).then(|| self.name())
    }
}

/// The source of judgments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JudgedBy {
    /// A held-out part of the dataset.
    HeldOut(HeldOut),
    /// The Judge page.
    Page,
}

impl JudgedBy {
    /// All sources, with their names in an address and on the page.
    pub const NAMES: [(JudgedBy, &'static str, &'static str); 3] = [
        (JudgedBy::HeldOut(HeldOut::Test), "test", "the dataset’s test queries"),
        (JudgedBy::HeldOut(HeldOut::Validation), "validation", "the dataset’s validation queries"),
        (JudgedBy::Page, "judged", "grades given on the Judge page"),
    ];

    /// Its name in an address.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(by, _, _)| *by == self).map_or("test", |(_, name, _)| name)
    }
}

/// The parameters of the Compare page.
pub struct CompareParams {
    /// The rows of the table.
    pub systems: Vec<System>,
    /// The index of the system that the others are tested against.
    pub baseline: usize,
    /// The names of the measures.
    pub measures: String,
    /// The source of judgments.
    pub by: JudgedBy,
    /// The candidates in the address.
    pub wanted: Candidates,
    /// The candidates that are ranked.
    pub candidates: Candidates,
    /// Whether a judged query without results counts as 0.
    pub complete: bool,
}

impl CompareParams {
    /// Whether an uploaded run is compared.
    pub fn with_run(&self) -> bool {
        self.systems.iter().any(|system| system.model().is_none())
    }

    /// Reads the parameters; without systems, all models are compared, up to `MOST_SYSTEMS`.
    pub fn of(asked: &PageParams, all: &[System]) -> Result<Self, Problem> {
        let mut systems: Vec<System> = Vec::new();
        for key in asked.each("runs") {
            let found = all.iter().find(|system| system.key() == key);
            // Names rarely have commas, so a list of names is accepted, too.
            let found: Vec<Option<&System>> = match found {
                Some(_) => vec![found],
                None => key
                    .split(',')
                    .map(|part| all.iter().find(|system| system.key() == part.trim()))
                    .collect(),
            };
            for system in found {
                let system = system.ok_or_else(|| {
                    let names: Vec<String> = all.iter().map(System::key).collect();
                    let key: String = key.chars().take(100).collect();
                    Problem::missing(format!(
                        "no model or run is called {key:?}; there are: {}",
                        names.join(", ")
                    ))
                })?;
                if systems.iter().all(|known| known.key() != system.key()) {
                    systems.push(system.clone());
                }
            }
        }
        if systems.is_empty() {
            let models = all.iter().filter(|system| system.model().is_some());
            systems = models.take(MOST_SYSTEMS).cloned().collect();
        }
        // A run that was just uploaded is added to the comparison.
        for key in asked.each("add") {
            let new = all.iter().find(|system| system.key() == key);
            systems.extend(new.filter(|_| systems.iter().all(|e| e.key() != key)).cloned());
        }
        if systems.len() > MOST_SYSTEMS {
            return Err(Problem::bad(format!(
                "the address has {} systems: expected at most {MOST_SYSTEMS}",
                systems.len()
            )));
        }
        let baseline = asked.one("baseline");
        let baseline = systems.iter().position(|system| Some(system.key().as_str()) == baseline);
        let by = match (asked.one("qrels"), asked.one("on")) {
            (Some("judged"), _) => JudgedBy::Page,
            (_, None) => JudgedBy::HeldOut(HeldOut::Test),
            (_, Some(on)) => JudgedBy::NAMES
                .iter()
                .find(|(_, name, _)| *name == on)
                .map(|(by, _, _)| *by)
                .ok_or_else(|| Problem::bad("on: expected test, validation or judged"))?,
        };
        let wanted = match asked.one("candidates") {
            None | Some("auto") => Candidates::Auto,
            Some("all") => Candidates::All,
            Some("judged") => Candidates::Judged,
            Some(_) => return Err(Problem::bad("candidates: expected auto, all or judged")),
        };
        // A run has the documents that its engine retrieved, not the judged ones: models that rank
        // judged documents alone would have an advantage.
        let mut params = CompareParams {
            systems,
            baseline: baseline.unwrap_or(0),
            measures: asked.one("measures").unwrap_or(MEASURES).to_owned(),
            by,
            wanted,
            candidates: wanted,
            complete: asked.one("missing") == Some("zero"),
        };
        if wanted == Candidates::Auto && params.with_run() {
            params.candidates = Candidates::All;
        }
        Ok(params)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str) -> System {
        System::Uploaded(UploadedRun { name: name.into(), bytes: 1, version: "1".into() })
    }

    fn asked(pairs: &[(&str, &str)]) -> PageParams {
        PageParams(pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    #[test]
    fn runs_are_named_singly_or_in_a_list() {
        let all = [run("a"), run("b, or not"), run("c")];
        let chosen = |pairs: &[(&str, &str)]| {
            CompareParams::of(&asked(pairs), &all).map(|params| {
                let names: Vec<&str> = params.systems.iter().map(System::name).collect();
                (names.join("|"), params.baseline)
            })
        };
        assert_eq!(chosen(&[("runs", "run:a,run:c")]).unwrap(), ("a|c".into(), 0));
        assert_eq!(
            chosen(&[("runs", "run:c"), ("runs", "run:b, or not"), ("baseline", "run:b, or not")])
                .unwrap(),
            ("c|b, or not".into(), 1)
        );
        assert_eq!(chosen(&[("runs", "run:a"), ("runs", "run:a")]).unwrap().0, "a");
        assert_eq!(chosen(&[("runs", "run:x")]).unwrap_err().status, 404);
        assert_eq!(chosen(&[("runs", "a")]).unwrap_err().status, 404);
        assert_eq!(chosen(&[("runs", "run:a"), ("baseline", "gone")]).unwrap().1, 0);
        assert_eq!(chosen(&[]).unwrap().0, "", "there are no models");
        assert_eq!(chosen(&[("runs", "run:a"), ("add", "run:c"), ("add", "x")]).unwrap().0, "a|c");
    }

    #[test]
    fn all_documents_are_ranked_with_a_run_unless_somebody_chooses() {
        let all = [run("a")];
        let ranked = |pairs: &[(&str, &str)]| {
            let params = CompareParams::of(&asked(pairs), &all).unwrap();
            (params.wanted, params.candidates)
        };
        use Candidates::{All, Auto, Judged};
        assert_eq!(ranked(&[]), (Auto, Auto));
        assert_eq!(ranked(&[("add", "run:a")]), (Auto, All));
        assert_eq!(ranked(&[("runs", "run:a"), ("candidates", "auto")]), (Auto, All));
        assert_eq!(ranked(&[("runs", "run:a"), ("candidates", "judged")]), (Judged, Judged));
        assert_eq!(ranked(&[("candidates", "judged")]), (Judged, Judged));
    }

    #[test]
    fn other_parameters_are_checked() {
        let by =
            |pairs: &[(&str, &str)]| CompareParams::of(&asked(pairs), &[]).map(|params| params.by);
        assert_eq!(by(&[]).unwrap(), JudgedBy::HeldOut(HeldOut::Test));
        assert_eq!(by(&[("on", "validation")]).unwrap(), JudgedBy::HeldOut(HeldOut::Validation));
        assert_eq!(by(&[("qrels", "judged")]).unwrap(), JudgedBy::Page);
        assert_eq!(by(&[("on", "judged")]).unwrap(), JudgedBy::Page);
        assert!(by(&[("on", "train")]).is_err() && by(&[("candidates", "some")]).is_err());
    }
}
