//! Uploaded runs: stored if they can be compared, and listed with a form for more.

use liken_engine::Engine;
use maud::{Markup, PreEscaped, html};

use super::fitting;
use super::params::UPLOADED;
use super::sources::{CompareSources, with_sources};
use crate::pages::format::{address, count};
use crate::pages::page_jobs::PageJobs;
use crate::problem::Problem;
use crate::runs::{LARGEST, UploadedRun};

/// `POST /runs`: stores a run that can be compared, and returns the address of the comparison.
pub fn upload(
    engine: &Engine,
    jobs: &PageJobs,
    name: &str,
    text: &str,
) -> Result<(UploadedRun, String), Problem> {
    // A table must not have the same name twice.
    let name = name.trim();
    if engine.models()?.iter().any(|about| about.model.name == name) {
        return Err(Problem::bad(format!("a model is called {name:?}: a run needs another name")));
    }
    with_sources(engine, |sources| store(sources, jobs, name, text))
}

/// Stores a run that can be compared with `sources`, and returns the address of the comparison.
pub fn store(
    sources: &CompareSources<'_>,
    jobs: &PageJobs,
    name: &str,
    text: &str,
) -> Result<(UploadedRun, String), Problem> {
    let run = jobs.runs.save(name, text, |run| fitting::check(run, sources))?;
    let key = format!("{UPLOADED}{}", run.name);
    Ok((run, address("/compare", &[("add", &key)])))
}

/// The list of uploaded runs, and the form to upload one.
pub fn uploads(runs: &[UploadedRun]) -> Markup {
    html! {
        h2 #runs { "Runs of other engines" }
        @if !runs.is_empty() {
            ul.runs {
                @for run in runs {
                    li {
                        a href=(address("/compare", &[("add", &format!("{UPLOADED}{}", run.name))])) { (run.name) }
                        " " span.quiet { (size(run.bytes)) } " "
                        form.inline method="post" action="/runs/delete" {
                            input type="hidden" name="name" value=(run.name);
                            button.small type="submit" aria-label={ "Delete " (run.name) } { "Delete" }
                        }
                    }
                }
            }
        }
        details open[runs.is_empty()] {
            summary { "Upload a run" }
            p {
                "A TREC run (" code { "query Q0 document rank score tag" } ") of any engine, or a table "
                code { "query,doc,score" } ". Queries are named by their ids in the dataset or by their texts, documents by their ids, which may be any text. At most "
                (size(LARGEST as u64)) "."
            }
            form method="post" action="/runs" data-upload="run" {
                div.fields {
                    div.field {
                        label for="run-name" { "Name" }
                        input #run-name type="text" name="name" required maxlength="80" autocomplete="off";
                    }
                    div.field hidden data-upload-file {
                        label for="run-file" { "File" }
                        input #run-file type="file";
                    }
                }
                div.field {
                    label for="run-text" { "Or its lines" }
                    textarea #run-text name="text" rows="5" spellcheck="false"
                        placeholder="q1 Q0 doc7 1 12.5 bm25" {}
                }
                p { button type="submit" { "Upload" } " " span data-upload-said role="status" {} }
            }
        }
    }
}

fn size(bytes: u64) -> Markup {
    PreEscaped(match bytes {
        0..1024 => count(bytes as usize, "byte"),
        1024..1_048_576 => format!("{} KiB", bytes / 1024),
        _ => format!("{} MiB", bytes >> 20),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::types::Judgment;
    use crate::testing::small;

    #[test]
    fn runs_of_others_and_names_of_models_are_refused() {
        let (engine, folder) = (small(), tempfile::tempdir().unwrap());
        let jobs = PageJobs::new(folder.path());
        let (query, id) = ("car insurance".to_owned(), "cars".to_owned());
        engine.judge(vec![Judgment { query, id, grade: Some(2), judge: None }]).unwrap();
        let upload =
            |name: &str, text: &str| upload(&engine, &jobs, name, text).map(|(run, _)| run.name);
        let good = "car insurance,cars,1\n";
        for (name, text, said) in [
            ("bm25", good, "another name"),
            (" pls ", good, "another name"),
            ("run", "nobody asked this,cars,1\n", "car insurance"),
            ("run", "car insurance,nothing,1\n", "documents"),
        ] {
            let problem = upload(name, text).unwrap_err();
            assert!(problem.status == 400 && problem.detail.contains(said), "{problem}");
        }
        assert_eq!(upload(" run ", good).unwrap(), "run");
        jobs.runs.delete("run").unwrap();
        assert_eq!(jobs.runs.delete("run").unwrap_err().status, 404);
    }
}
