//! Routes of feedback: events and judgments.

use liken_engine::types::{Event, Judgment, Scope, Written};

use super::writing::WRITTEN;
use crate::api::events::NumberedEvent;
use crate::api::route::{AnswerSpec, BodySpec, Parameter, ParameterKind, Route};
use crate::api::{events, judgments};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route {
            summary: "Record clicks and impressions",
            description: "One event, a list of them, or NDJSON. They are on disk when the answer \
                comes.",
            long: true,
            ..Route::post(
                "/events",
                Scope::Write,
                events::record,
                BodySpec::bulk::<Event>(
                    r#"{"kind": "click", "query": "heart attack", "id": "MED-10", "rank": 1,
                    "shown": ["MED-10", "MED-14"], "session": "s1", "time": 1760000000.0}"#,
                ),
                AnswerSpec::json::<Written>(WRITTEN),
            )
        },
        Route {
            summary: "Export all events, one per line",
            description: "Every line has a number; `after` the last one continues the export.",
            parameters: &[
                Parameter {
                    name: "after",
                    kind: ParameterKind::Whole,
                    description: "Only events with larger numbers.",
                },
                Parameter {
                    name: "limit",
                    kind: ParameterKind::Whole,
                    description: "The maximum number of events.",
                },
            ],
            long: true,
            ..Route::get(
                "/events",
                Some(Scope::Write),
                events::export,
                AnswerSpec {
                    media: "application/x-ndjson",
                    ..AnswerSpec::json::<NumberedEvent>(
                        r#"{"number": 1, "kind": "click", "query": "heart", "id": "MED-10"}"#,
                    )
                },
            )
        },
        Route {
            summary: "Record judgments",
            description: "One judgment, a list of them, or NDJSON. A later grade of the same \
                judge replaces an earlier one; null deletes it. Grades are whole \
                numbers from 0 to 100; ids with white space cannot be judged, since TREC qrels \
                cannot hold them.",
            long: true,
            ..Route::post(
                "/judgments",
                Scope::Write,
                judgments::judge,
                BodySpec::bulk::<Judgment>(
                    r#"{"query": "heart attack", "id": "MED-10", "grade": 2}"#,
                ),
                AnswerSpec::json::<Written>(WRITTEN),
            )
        },
        Route {
            summary: "List the current judgments",
            parameters: &[Parameter {
                name: "query",
                kind: ParameterKind::Text,
                description: "Only those of this query.",
            }],
            ..Route::get(
                "/judgments",
                Some(Scope::Read),
                judgments::list,
                AnswerSpec::json::<Vec<Judgment>>(
                    r#"[{"query": "heart attack", "id": "MED-10", "grade": 2, "judge": null}]"#,
                ),
            )
        },
        Route {
            summary: "Export the current judgments as TREC qrels",
            description: "`query 0 document grade` per line. Queries get the ids q1, q2 … in the \
                order in which they were first judged; /judgments.queries has their texts. The \
                grade of several judges is their median, rounded up.",
            ..Route::get(
                "/judgments.qrels",
                Some(Scope::Read),
                judgments::qrels,
                AnswerSpec::text("text/plain; charset=utf-8", "q1 0 MED-10 2\n"),
            )
        },
        Route {
            summary: "Export the queries of the qrels",
            description: "One query per line: id, tab, text.",
            ..Route::get(
                "/judgments.queries",
                Some(Scope::Read),
                judgments::queries,
                AnswerSpec::text("text/tab-separated-values; charset=utf-8", "q1\theart attack\n"),
            )
        },
    ]
}
