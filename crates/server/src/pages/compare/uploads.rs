//! Runs of other engines: the list of them, and the way to bring one.

use maud::{Markup, PreEscaped, html};

use super::choice::UPLOADED;
use crate::pages::layout::address;
use crate::runs::{LARGEST, RunAbout};

/// Uploaded runs, and the way to bring one.
pub fn uploads(runs: &[RunAbout]) -> Markup {
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
            summary { "Bring a run" }
            p {
                "A TREC run (" code { "query Q0 document rank score tag" } ") of any engine, or a table "
                code { "query,doc,score" } ". Queries go by their ids in the dataset or by their texts, documents by their ids, which may be anything, addresses too. At most "
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
                    label for="run-text" { "or its lines" }
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
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{} KiB", bytes / 1024),
        _ => format!("{} MiB", bytes >> 20),
    })
}
