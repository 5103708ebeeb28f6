//! The parameters of the Compare page: systems, judgments and measures.

use std::sync::Arc;

use liken::eval::{Candidates, HeldOut};
use liken_engine::Served;

use crate::pages::page_params::PageParams;
use crate::problem::Problem;
use crate::runs::RunAbout;

/// The most systems in a table.
pub const MOST_RUNS: usize = 12;
/// The measures where none are named.
pub const MEASURES: &str = "nDCG@10, nDCG@1, AP, RR";
/// What the names of uploaded runs begin with in an address.
pub const UPLOADED: &str = "run:";

/// A system of the comparison: a row of the table.
#[derive(Clone)]
pub enum System {
    /// An active model.
    Model(Arc<Served>),
    /// A run that was uploaded.
    Uploaded(RunAbout),
}

impl System {
    /// Its name in an address.
    pub fn key(&self) -> String {
        match self {
            System::Model(served) => served.about.model.name.clone(),
            System::Uploaded(run) => format!("{UPLOADED}{}", run.name),
        }
    }

    /// Its name in a table.
    pub fn name(&self) -> String {
        match self {
            System::Model(served) => served.about.model.name.clone(),
            System::Uploaded(run) => run.name.clone(),
        }
    }

    /// Its version: it changes with the content.
    pub fn version(&self) -> &str {
        match self {
            System::Model(served) => &served.about.model.version,
            System::Uploaded(run) => &run.version,
        }
    }

    /// The model's name, if it is a model.
    pub fn model(&self) -> Option<&str> {
        match self {
            System::Model(served) => Some(&served.about.model.name),
            System::Uploaded(_) => None,
        }
    }
}

/// Where judgments come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JudgedBy {
    /// The dataset's.
    HeldOut(HeldOut),
    /// Those made on the Judge page.
    Page,
}

impl JudgedBy {
    /// All of them, with their names in an address and on the page.
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

/// What the address of the page asks for.
pub struct Choice {
    /// The rows of the table.
    pub systems: Vec<System>,
    /// Which of them the others are tested against.
    pub baseline: usize,
    /// The measures, as written.
    pub measures: String,
    /// Where judgments come from.
    pub by: JudgedBy,
    /// Which documents were asked for.
    pub wanted: Candidates,
    /// Which documents are ranked.
    pub candidates: Candidates,
    /// Whether a judged query without results counts as 0.
    pub complete: bool,
}

impl Choice {
    /// Whether a run of another engine is compared.
    pub fn with_run(&self) -> bool {
        self.systems.iter().any(|system| system.model().is_none())
    }

    /// Reads it; without a choice all models take part, as many as there is room for.
    pub fn of(asked: &PageParams, all: &[System]) -> Result<Self, Problem> {
        let mut systems: Vec<System> = Vec::new();
        for key in asked.each("runs") {
            let found = all.iter().find(|system| system.key() == key);
            // Names have no commas as a rule, so that a list of them may be typed.
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
            systems = models.take(MOST_RUNS).cloned().collect();
        }
        // A run that was just uploaded comes to whatever is compared.
        for key in asked.each("add") {
            let new = all.iter().find(|system| system.key() == key);
            systems.extend(new.filter(|_| systems.iter().all(|e| e.key() != key)).cloned());
        }
        if systems.len() > MOST_RUNS {
            return Err(Problem::bad(format!(
                "at most {MOST_RUNS} systems fit into a table, {} were asked for",
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
        // A run has the documents that its engine found, not the judged ones: models that rank the
        // judged ones alone would be better by nothing but that.
        let mut choice = Choice {
            systems,
            baseline: baseline.unwrap_or(0),
            measures: asked.one("measures").unwrap_or(MEASURES).to_owned(),
            by,
            wanted,
            candidates: wanted,
            complete: asked.one("missing") == Some("zero"),
        };
        if wanted == Candidates::Auto && choice.with_run() {
            choice.candidates = Candidates::All;
        }
        Ok(choice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str) -> System {
        System::Uploaded(RunAbout { name: name.into(), bytes: 1, version: "1".into() })
    }

    fn asked(pairs: &[(&str, &str)]) -> PageParams {
        PageParams(pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    #[test]
    fn runs_are_named_singly_or_in_a_list() {
        let all = [run("a"), run("b, or not"), run("c")];
        let chosen = |pairs: &[(&str, &str)]| {
            Choice::of(&asked(pairs), &all).map(|choice| {
                let names: Vec<String> = choice.systems.iter().map(System::name).collect();
                (names.join("|"), choice.baseline)
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
            let choice = Choice::of(&asked(pairs), &all).unwrap();
            (choice.wanted, choice.candidates)
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
        let by = |pairs: &[(&str, &str)]| Choice::of(&asked(pairs), &[]).map(|choice| choice.by);
        assert_eq!(by(&[]).unwrap(), JudgedBy::HeldOut(HeldOut::Test));
        assert_eq!(by(&[("on", "validation")]).unwrap(), JudgedBy::HeldOut(HeldOut::Validation));
        assert_eq!(by(&[("qrels", "judged")]).unwrap(), JudgedBy::Page);
        assert_eq!(by(&[("on", "judged")]).unwrap(), JudgedBy::Page);
        assert!(by(&[("on", "train")]).is_err() && by(&[("candidates", "some")]).is_err());
    }
}
