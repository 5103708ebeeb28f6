//! The order of the modules of every crate: who may import from whom, and which crates know the
//! command line (`flags`). `source` and `graph` know nothing of liken; the tables below say what
//! its order is.

#![allow(missing_docs, clippy::unwrap_used)]

mod flags;
mod graph;
mod source;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use graph::{Crate, Order};

/// The crates below `crates/` and the orders in them.
const CRATES: &[(&str, &[Order])] = &[
    ("math", MATH),
    ("core", CORE),
    ("pages", PAGES),
    ("engine", ENGINE),
    ("server", SERVER),
    ("cli", CLI),
];

const MATH: &[Order] = &[Order {
    folder: "",
    layers: &[
        &["early_stopping", "error", "memory", "random", "special", "standardise", "top_k"],
        &["ranking", "run"],
        &["dense"],
        &["sparse"],
        &["file", "linalg"],
        &["index"],
    ],
    exceptions: &[],
}];

const CORE: &[Order] = &[
    Order {
        folder: "",
        layers: &[
            &["params", "rows", "text", "topic"],
            &["data", "plan"],
            &["features"],
            &["matchers"],
            &["eval", "export", "synth"],
            &["fusion", "training"],
            &["rank", "tuning"],
            &["stack"],
            &["experiment"],
        ],
        exceptions: &[],
    },
    Order {
        folder: "rows",
        layers: &[
            &["bad_row", "dropped", "feature_values", "query_lines", "role", "source_file", "time"],
            &["encoding", "json_paths", "quotes"],
            &["input"],
            &["format", "row", "text"],
            &["lines", "table", "trec_lines"],
            // One file per format.
            &[
                "csv",
                "json",
                "json_lines",
                "ldac",
                "letor",
                "parquet",
                "plain_lines",
                "qrels",
                "smart",
                "trec",
                "trec_run",
                "tsv",
            ],
            &["columns", "open"],
            &["header_table", "reader"],
        ],
        exceptions: &[],
    },
    Order {
        folder: "data",
        layers: &[
            &[
                "field_values",
                "identity",
                "impressions",
                "interner",
                "pairs",
                "part",
                "task_params",
            ],
            &["events", "impression_counts", "queries", "source_table"],
            &["dataset", "preferences", "propensity"],
            &["beir", "import_spec", "report", "split", "text_documents"],
            &["append", "log"],
            &["checks", "write"],
            &["import", "task"],
        ],
        exceptions: &[],
    },
    Order {
        folder: "features",
        layers: &[
            &["classes", "collection", "evidence", "positions"],
            &["blocks", "proximity"],
            &["counts"],
            &["unseen", "weighted"],
            &["negatives", "stats"],
        ],
        exceptions: &[("blocks", "counts"), ("collection", "counts"), ("counts", "weighted")],
    },
    Order {
        folder: "topic",
        layers: &[
            &[
                "bags",
                "coherence",
                "corpus",
                "descent",
                "layout",
                "momentum",
                "seeds",
                "some_rows",
                "symmetric",
            ],
            &["clusters", "completion", "special", "spectral", "start"],
            &["factorise", "lda", "plsi"],
            &["fold"],
        ],
        exceptions: &[("bags", "special"), ("factorise", "fold")],
    },
    Order {
        folder: "matchers",
        layers: &[
            &["check", "explain", "map", "mix", "mod", "savings", "space", "unclicked"],
            &["method", "solver"],
            &["direct", "dots", "epochs"],
            &["knn", "lexical", "walk"],
            &["bm25", "lm", "pairs", "vsm"],
            &["clicked", "dependence", "topics", "translation"],
            &["bilinear", "bltm", "feedback_docs"],
            &["expansion", "feedback", "pls", "rm3", "square", "ssi", "validation", "vpcg"],
            &["lsi", "mpls", "ridge", "rmls", "svdfeature"],
            &["params"],
            &["init", "planning"],
            &["model"],
            &["neighbours", "unseen"],
            &["dictionary"],
        ],
        exceptions: &[
            ("init", "model"),
            ("method", "bilinear"),
            ("method", "topics"),
            ("method", "translation"),
            ("model", "unseen"),
            ("topics", "model"),
            ("topics", "params"),
        ],
    },
    Order {
        folder: "eval",
        layers: &[
            &["bound", "diversity", "significance", "variant"],
            &["cells", "measure"],
            &["name", "task", "trec"],
            &["compare", "trec_eval"],
            &["runs"],
        ],
        exceptions: &[],
    },
    Order {
        folder: "fusion",
        layers: &[&["mod", "normalise"], &["rerank", "tune"]],
        exceptions: &[],
    },
    Order {
        folder: "rank",
        layers: &[
            &["table"],
            &["features", "goal", "normalise", "propensity", "read", "scorer"],
            &["method", "write"],
            &["diversify", "trees"],
            &["linear"],
            &["arrays", "params"],
            &["ranker"],
            &["training"],
        ],
        exceptions: &[("scorer", "linear"), ("scorer", "trees")],
    },
    Order {
        folder: "experiment",
        layers: &[&["mod"], &["folds"], &["setting"], &["expected"]],
        exceptions: &[],
    },
    Order {
        folder: "export",
        layers: &[&["folder", "synonyms"], &["dataset", "vectors", "written"]],
        exceptions: &[],
    },
    Order { folder: "plan", layers: &[&["machine"], &["mod"], &["fit"]], exceptions: &[] },
    Order {
        folder: "stack",
        layers: &[&["inputs", "reranked", "spec"], &["cross"], &["fit", "pages"]],
        exceptions: &[],
    },
    Order {
        folder: "synth",
        layers: &[&["concepts", "engine", "raw"], &["demo", "weblog"], &["corpus"], &["synthetic"]],
        exceptions: &[],
    },
    Order {
        folder: "text",
        layers: &[
            &["language", "url", "vocabulary"],
            &["fold", "stem", "words"],
            &["params"],
            &["analyzer"],
        ],
        exceptions: &[],
    },
    Order {
        folder: "tuning",
        layers: &[
            &["journal", "schedule", "setting"],
            &["space"],
            &["table"],
            &["mod"],
            &["trial_runner"],
        ],
        exceptions: &[("mod", "trial_runner")],
    },
];

const PAGES: &[Order] = &[Order {
    folder: "",
    layers: &[
        &["axis", "escape", "numbers", "shorten"],
        &["panel"],
        &["bars", "bubbles", "chart"],
        &["page"],
    ],
    exceptions: &[],
}];

const ENGINE: &[Order] = &[
    Order {
        folder: "",
        layers: &[
            &["error", "system", "types"],
            &["titles", "snippet", "text"],
            &["store"],
            &["limits"],
            &["checks"],
            &["engine"],
            &["testing"],
        ],
        exceptions: &[],
    },
    Order {
        folder: "text",
        layers: &[
            &["error", "tokens"],
            &["query", "schema"],
            &["filter"],
            &["filter_eval"],
            &["mod", "snapshot"],
            &["writer"],
        ],
        exceptions: &[],
    },
];

const SERVER: &[Order] = &[Order {
    folder: "",
    layers: &[&["problem"], &["jobs", "runs"], &["http"], &["api"], &["pages"], &["run"]],
    exceptions: &[],
}];

const CLI: &[Order] = &[
    Order {
        folder: "",
        layers: &[
            &["output", "render", "size"],
            &["console"],
            &[
                "bound",
                "import",
                "index",
                "unseen",
                "reports",
                "runs",
                "settings",
                "tables",
                "translate",
            ],
            &[
                "diversify",
                "explain",
                "export_index",
                "info_index",
                "key",
                "plan",
                "presets",
                "rankers",
                "run",
                "search",
                "serve",
                "stats",
                "synth",
                "task",
                "tune_report",
                "variant",
            ],
            &[
                "compare",
                "diversify_train",
                "eval",
                "export",
                "fuse",
                "import_formats",
                "similar",
                "topics",
                "train",
                "tune",
            ],
            &["demo", "experiment", "features", "rank", "rerank", "topics_page"],
            &["info"],
            &["mod"],
        ],
        exceptions: &[
            ("diversify", "diversify_train"),
            ("import", "import_formats"),
            ("import", "mod"),
            ("rank", "mod"),
            ("topics", "topics_page"),
            ("train", "mod"),
        ],
    },
    Order {
        folder: "rank",
        layers: &[&["eval", "explain", "plot"], &["folds", "mod"], &["system", "predict", "train"]],
        exceptions: &[
            ("eval", "system"),
            ("eval", "mod"),
            ("explain", "mod"),
            ("mod", "predict"),
            ("mod", "train"),
        ],
    },
];

#[test]
fn modules_import_from_lower_layers_alone() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut problems = Vec::new();
    for (name, orders) in CRATES {
        if !crates.join(name).is_dir() {
            problems.push(format!("the table names crates/{name}, and there is no such crate"));
            continue;
        }
        let krate = Crate::read(&crates.join(name));
        for order in *orders {
            let found = krate.problems(order).into_iter();
            problems.extend(found.map(|problem| format!("{name}::{}: {problem}", order.folder)));
        }
    }
    let known: BTreeSet<&str> = CRATES.iter().map(|(name, _)| *name).collect();
    for entry in fs::read_dir(crates).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.path().join("Cargo.toml").is_file() && !known.contains(name.as_str()) {
            problems
                .push(format!("add crates/{name} to CRATES in crates/core/tests/layers/main.rs"));
            let none = Order { folder: "", layers: &[], exceptions: &[] };
            problems.extend(Crate::read(&entry.path()).problems(&none));
        }
    }
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}
