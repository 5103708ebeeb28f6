//! Feedback: events and judgments.

use super::*;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route {
            summary: "Record clicks and impressions",
            description: "One event, a list of them, or NDJSON. They are on disk when the answer \
                comes.",
            long: true,
            handler: |call| Box::pin(events::record(call)),
            ..post(
                "/events",
                Scope::Write,
                bodies::<Event>(
                    r#"{"kind": "click", "query": "heart attack", "id": "MED-10", "rank": 1,
                    "shown": ["MED-10", "MED-14"], "session": "s1", "time": 1760000000.0}"#,
                ),
                json::<Written>(WRITTEN),
            )
        },
        Route {
            summary: "All events, one per line",
            description: "Lines carry numbers; to go on, ask for those after the last.",
            parameters: &[
                Parameter {
                    name: "after",
                    kind: Kind::Whole,
                    description: "Only events with larger numbers.",
                },
                Parameter { name: "limit", kind: Kind::Whole, description: "At most so many." },
            ],
            long: true,
            handler: |call| Box::pin(events::export(call)),
            ..get(
                "/events",
                Some(Scope::Write),
                AnswerOf {
                    media: "application/x-ndjson",
                    of: Some(TypeOf::new::<NumberedEvent>()),
                    example: r#"{"number": 1, "kind": "click", "query": "heart", "id": "MED-10"}"#,
                    also: &[],
                },
            )
        },
        Route {
            summary: "Record judgments",
            description: "One judgment, a list of them, or NDJSON. A later grade of the same \
                judge takes the place of an earlier one; null takes it back. Grades are whole \
                numbers from 0 to 100; ids with white space cannot be judged, since TREC's qrels \
                cannot hold them.",
            long: true,
            handler: |call| Box::pin(judgments::judge(call)),
            ..post(
                "/judgments",
                Scope::Write,
                bodies::<Judgment>(r#"{"query": "heart attack", "id": "MED-10", "grade": 2}"#),
                json::<Written>(WRITTEN),
            )
        },
        Route {
            summary: "The current judgments",
            parameters: &[QUERY],
            handler: |call| Box::pin(judgments::list(call)),
            ..get(
                "/judgments",
                Some(Scope::Read),
                json::<Vec<Judgment>>(
                    r#"[{"query": "heart attack", "id": "MED-10", "grade": 2, "judge": null}]"#,
                ),
            )
        },
        Route {
            summary: "The current judgments as TREC qrels",
            description: "`query 0 document grade` per line. Queries are called q1, q2 … in the \
                order in which they were first judged; /judgments.queries has their texts. Where \
                several people judged, it is the median of their grades, rounded up.",
            handler: |call| Box::pin(judgments::qrels(call)),
            ..get(
                "/judgments.qrels",
                Some(Scope::Read),
                AnswerOf {
                    media: "text/plain; charset=utf-8",
                    of: None,
                    example: "q1 0 MED-10 2\n",
                    also: &[],
                },
            )
        },
        Route {
            summary: "The queries that the qrels name",
            description: "Id and text, with a tab between them.",
            handler: |call| Box::pin(judgments::queries(call)),
            ..get(
                "/judgments.queries",
                Some(Scope::Read),
                AnswerOf {
                    media: "text/tab-separated-values; charset=utf-8",
                    of: None,
                    example: "q1\theart attack\n",
                    also: &[],
                },
            )
        },
    ]
}
