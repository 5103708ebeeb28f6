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

const MATH: &[Order] = &[
    Order {
        folder: "",
        layers: &[
            &[
                "early_stopping",
                "error",
                "memory",
                "processor",
                "random",
                "special",
                "standardise",
                "suggest",
                "top_k",
            ],
            &["ranking", "run"],
            &["dense"],
            &["sparse"],
            &["file", "linalg"],
            &["index"],
        ],
    },
    Order {
        folder: "file",
        layers: &[
            &["output", "parquet", "sort", "staged", "tensors"],
            &["folder", "lines", "single"],
        ],
    },
    Order {
        folder: "index",
        layers: &[
            &["best", "docset", "mapped", "params"],
            &["codes", "embeddings"],
            &["exact", "kmeans", "lists", "postings"],
            &["recall"],
            &["build"],
            &["mod"],
        ],
    },
    Order {
        folder: "linalg",
        layers: &[
            &["columns", "fixed_point", "mod", "normals", "packed", "threshold", "wide"],
            &["operator", "orthonormal", "panels"],
            &["chebyshev", "ridge", "small"],
            &["svd"],
            &["square"],
        ],
    },
    Order { folder: "sparse", layers: &[&["csr", "mod"], &["panel", "product", "transpose"]] },
];

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
    },
    Order {
        folder: "rows",
        layers: &[
            &["bad_row", "dropped", "feature_values", "query_lines", "role", "source_file", "time"],
            &["encoding", "json_paths", "quotes"],
            &["input"],
            &["format", "row", "text"],
            &["lines", "table", "trec_lines"],
            // The formats.
            &[
                "csv",
                "json",
                "ldac",
                "letor",
                "line_formats",
                "parquet",
                "qrels",
                "run_lines",
                "smart",
                "trec_documents",
            ],
            &["columns", "open"],
            &["header_table", "reader"],
        ],
    },
    Order {
        folder: "data",
        layers: &[
            &["field_values", "identity", "impressions", "interner", "split_name", "task_params"],
            &["events", "impression_counts", "pairs", "queries", "source_table"],
            &["dataset", "preferences", "propensity"],
            &["beir", "import_spec", "report", "split", "text_documents"],
            &["append", "log"],
            &["checks", "write"],
            &["import", "task"],
        ],
    },
    Order {
        folder: "data::events",
        layers: &[
            &["event", "query_log"],
            &["aggregated_log", "log_columns"],
            &["about", "timeline"],
            &["group"],
            &["mod"],
            &["rank_one"],
        ],
    },
    Order {
        folder: "data::log",
        layers: &[&["checked_rows"], &["mod"], &["aggregated_events", "documents", "event_rows"]],
    },
    Order { folder: "data::task", layers: &[&["split_links", "words"], &["mod"]] },
    Order {
        folder: "features",
        layers: &[
            &["classes", "click_weights", "collection", "positions", "weighted"],
            &["preparation", "proximity"],
            &["blocks"],
            &["counts"],
            &["featurizer", "unseen"],
            &["negatives", "stats"],
        ],
    },
    Order {
        folder: "topic",
        layers: &[
            &["coherence", "corpus", "layout", "momentum", "seeds", "simd", "symmetric"],
            &["bags", "clusters", "descent", "spectral", "start"],
            &["completion", "fold", "lda", "plsi"],
            &["factorise"],
        ],
    },
    Order {
        folder: "matchers",
        layers: &[
            &[
                "by_words",
                "explain",
                "map",
                "mix",
                "mod",
                "savings",
                "space",
                "sparse_vector",
                "unclicked",
            ],
            &["bilinear", "topics_view", "translation_table"],
            &["method", "solver"],
            &["bilinear_matcher", "direct", "dots", "epochs"],
            &["knn", "lexical", "walk"],
            &["bm25", "lm", "pairs", "vsm"],
            &["bltm", "clicked", "dependence", "topics", "translation"],
            &["first_ranking"],
            &["expansion", "feedback", "pls", "rm3", "square", "ssi", "validation", "vpcg"],
            &["association", "lsi", "mpls", "ridge", "rmls", "svdfeature"],
            &["params"],
            &["model", "planning"],
            &["init", "model_topics", "neighbours", "unseen"],
            &["dictionary"],
        ],
    },
    Order {
        folder: "matchers::association",
        layers: &[&["params"], &["norms"], &["kernel"], &["mod"]],
    },
    Order {
        folder: "matchers::rmls",
        layers: &[
            &["bytes", "params", "report", "row", "sample_size"],
            &["choice", "half", "placement", "plan"],
            &["fit"],
            &["mod"],
        ],
    },
    Order {
        folder: "matchers::ssi",
        layers: &[
            &["hashes", "params"],
            &["bins", "fitted"],
            &["data"],
            &["draws"],
            &["sgd"],
            &["diagonal", "full", "hashed", "strips"],
            &["mixed", "plan"],
            &["mod"],
        ],
    },
    Order {
        folder: "matchers::topics",
        layers: &[
            &["classes", "mod", "reading"],
            &["bag", "fitted", "summary"],
            &["factorised", "text"],
            &["plan"],
            &["lda", "nmf", "plsi", "rlsi"],
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
    },
    Order {
        folder: "eval::trec",
        layers: &[
            &["query_lists", "subtopics", "write"],
            &["qrels"],
            &["numbered", "trec_run"],
            &["read"],
        ],
    },
    Order {
        folder: "eval::trec_eval",
        layers: &[
            &["graded", "params"],
            &["binary", "by_subtopic", "gains", "liken_measures"],
            &["statistic"],
            &["families"],
            &["spelling"],
            &["evaluate"],
            &["print"],
        ],
    },
    Order { folder: "fusion", layers: &[&["mod", "normalise"], &["rerank", "tune"]] },
    Order {
        folder: "rank",
        layers: &[
            &["table"],
            &["features", "goal", "normalise", "propensity", "read", "scorer"],
            &["arrays", "method", "write"],
            &["diversify", "linear", "trees"],
            &["params"],
            &["ranker"],
            &["training"],
        ],
    },
    Order {
        folder: "rank::diversify",
        layers: &[
            &["candidates", "mod"],
            &["judged", "mmr", "relations"],
            &["gather", "r_ltr", "tune"],
            &["diversifier"],
        ],
    },
    Order {
        folder: "rank::features",
        layers: &[
            &["documents", "group", "source", "texts"],
            &["columns"],
            &["extractor"],
            &["rows"],
        ],
    },
    Order {
        folder: "rank::linear",
        layers: &[
            &["checks", "cholesky", "matrix", "optimum", "pairs"],
            &[
                "best_step",
                "cutting_planes",
                "hinge",
                "lbfgs",
                "regularisation_path",
                "table_measure",
            ],
            // One file per method.
            &[
                "adarank",
                "coordinate_ascent",
                "listmle",
                "listnet",
                "logistic",
                "rankboost",
                "ranking_svm",
                "regression",
                "svm_map",
            ],
            &["ir_svm"],
        ],
    },
    Order {
        folder: "rank::trees",
        layers: &[
            &["lightgbm", "prefetch"],
            &["bins"],
            &["histogram"],
            &["split"],
            &["grow"],
            &["boost"],
            &["lambdamart", "mart"],
        ],
    },
    Order { folder: "experiment", layers: &[&["mod"], &["folds"], &["setting"], &["expected"]] },
    Order {
        folder: "export",
        layers: &[&["folder", "synonyms"], &["dataset", "surface_forms", "vectors"]],
    },
    Order {
        folder: "export::dataset",
        layers: &[
            &["rounding"],
            &["source"],
            &["tables"],
            &["beir", "parquet", "trec", "tsv"],
            &["mod"],
        ],
    },
    Order {
        folder: "export::vectors",
        layers: &[&["rows"], &["jsonl", "npy", "safetensors"], &["mod"]],
    },
    Order { folder: "plan", layers: &[&["machine"], &["mod"], &["fit"]] },
    Order {
        folder: "stack",
        layers: &[&["inputs", "reranked", "spec"], &["cross"], &["fit", "pages"]],
    },
    Order {
        folder: "synth",
        layers: &[
            &["concepts", "engine", "raw", "zipf"],
            &["demo", "weblog"],
            &["corpus"],
            &["synthetic"],
        ],
    },
    Order {
        folder: "synth::demo",
        layers: &[
            &["log"],
            &["draw"],
            &["clicks", "documents", "facets", "judgments", "queries"],
            &["raw"],
            &["mod"],
        ],
    },
    Order {
        folder: "synth::weblog",
        layers: &[
            &["line", "names", "spread"],
            &["shape", "speech"],
            &["log"],
            &["judgments"],
            &["text"],
            &["mod"],
        ],
    },
    Order {
        folder: "text",
        layers: &[
            &["language", "url", "vocabulary"],
            &["fold", "stem", "words"],
            &["params"],
            &["analyzer"],
        ],
    },
    Order {
        folder: "tuning",
        layers: &[
            &["journal", "schedule", "setting"],
            &["space"],
            &["spec"],
            &["table", "trial_runner"],
            &["mod"],
        ],
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
        ],
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
    },
    Order {
        folder: "engine",
        layers: &[
            &["docs", "fuse", "layout", "postings", "query"],
            &["served"],
            &["rankers", "view"],
            &["fold_in", "snapshot"],
            &["mod"],
            &["embeddings", "live", "registry", "resolve"],
            &["build", "candidates", "open"],
            &["ranking"],
            &["search"],
            &["explain", "rerank"],
        ],
    },
    Order {
        folder: "store",
        layers: &[
            &["error"],
            &["limits", "lock", "sql"],
            &["schema"],
            &["pool", "space"],
            &["writer"],
            &["mod"],
            &["documents", "events", "judgments", "keys", "models"],
            &["bulk", "changes", "export"],
            &["qrels"],
        ],
    },
    Order {
        folder: "types",
        layers: &[
            &["learning", "models", "scope", "search"],
            &["embeddings", "explain"],
            &["results"],
        ],
    },
    Order { folder: "snippet", layers: &[&["words"], &["mod"]] },
];

const SERVER: &[Order] = &[
    Order {
        folder: "",
        layers: &[&["problem"], &["jobs", "runs"], &["http"], &["api"], &["pages"], &["run"]],
    },
    Order {
        folder: "http",
        layers: &[
            &[
                "connections",
                "encoding",
                "incidents",
                "limits",
                "log",
                "metrics",
                "origin",
                "request_id",
                "respond",
                "write_timeout",
            ],
            &["keys", "worker_pools"],
            &["state"],
            &["receive"],
            &["layers", "login"],
            &["router"],
            &["serve"],
        ],
    },
    Order {
        folder: "api",
        layers: &[
            &["body", "duplicate_fields", "json_errors", "types"],
            &["parse"],
            &["call"],
            &["items", "models", "search", "status"],
            &["documents", "events", "judgments", "route"],
            &["openapi"],
            &["routes"],
            &["router"],
        ],
    },
    Order {
        folder: "api::routes",
        layers: &[&["searching", "serving", "writing"], &["learning"], &["mod"]],
    },
    Order {
        folder: "pages",
        layers: &[
            &["charts", "dataset_stats", "examples", "format", "judged_queries", "titles"],
            &["page_jobs", "page_params", "paging", "search_params", "tables"],
            &["layout", "model_choice", "search_view"],
            &["heat_map", "pool", "rank_changes", "respond"],
            &["explain"],
            &["reason"],
            &["hits"],
            // One file or folder per page.
            &["compare", "data", "judge", "model", "search", "topics"],
            &["run_uploads"],
            &["routes"],
        ],
    },
    Order {
        folder: "pages::compare",
        layers: &[
            &["params", "queries", "ranking", "sources"],
            &["caveats", "fitting", "plots"],
            &["by_query", "uploads"],
            &["sections"],
            &["mod"],
        ],
    },
    Order {
        folder: "pages::model",
        layers: &[&["dimensions", "history"], &["facts", "near"], &["mod"]],
    },
];

const CLI: &[Order] = &[
    Order {
        folder: "",
        layers: &[
            &["help", "output", "progress", "render", "size"],
            &["console"],
            // What several subcommands share.
            &[
                "index",
                "reports",
                "runs",
                "settings",
                "table_role",
                "tables",
                "topics_figures",
                "unseen",
            ],
            &["diversify_inputs", "presets", "rankers", "search", "tune_report", "variant"],
            &["input_tables", "topics_page"],
            &[
                "bound",
                "compare",
                "diversify_train",
                "eval",
                "explain",
                "export_index",
                "features",
                "fuse",
                "import",
                "info_index",
                "key",
                "plan",
                "rank",
                "run",
                "serve",
                "shell",
                "similar",
                "stats",
                "synth",
                "topics",
                "translate",
            ],
            // Subcommands that use others.
            &[
                "demo",
                "diversify",
                "experiment",
                "export",
                "info",
                "rerank",
                "task",
                "train",
                "tune",
            ],
            &["mod"],
        ],
    },
    Order {
        folder: "rank",
        layers: &[
            &["describe", "plot", "table"],
            &["system"],
            &["eval", "explain", "predict"],
            &["folds"],
            &["train"],
            &["mod"],
        ],
    },
];

/// Crates of the web; nothing below the server depends on one.
const HTTP: &[&str] =
    &["axum", "http", "http-body", "hyper", "hyper-util", "tower", "tower-http", "ureq"];

#[test]
fn nothing_below_the_server_depends_on_http() {
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
    let lock: toml::Table = fs::read_to_string(lock).unwrap().parse().unwrap();
    let packages = lock["package"].as_array().unwrap();
    // A dependency is a name, with a version behind it where there are several.
    let dependencies = |name: &str| -> Vec<String> {
        let named = packages.iter().filter(|package| package["name"].as_str() == Some(name));
        let lists = named.filter_map(|package| package.get("dependencies")?.as_array());
        let names = lists.flatten().filter_map(|text| text.as_str()?.split(' ').next());
        names.map(str::to_owned).collect()
    };
    for (name, has_http) in [("liken-engine", false), ("liken-server", true)] {
        let mut all = BTreeSet::new();
        let mut left = vec![name.to_owned()];
        while let Some(name) = left.pop() {
            if all.insert(name.clone()) {
                left.extend(dependencies(&name));
            }
        }
        let http: Vec<&&str> = HTTP.iter().filter(|name| all.contains(**name)).collect();
        assert_eq!(!http.is_empty(), has_http, "{name} depends on {http:?}");
        assert!(all.contains("tantivy"), "{all:?}");
    }
}

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
        // Small folders have no declared order, but no circles either.
        for folder in krate.folders() {
            let circles = krate.circles(folder);
            if !circles.is_empty() {
                problems.push(format!("{name}::{}: {circles:?} are in circles", folder.join("::")));
            }
        }
    }
    let known: BTreeSet<&str> = CRATES.iter().map(|(name, _)| *name).collect();
    for entry in fs::read_dir(crates).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.path().join("Cargo.toml").is_file() && !known.contains(name.as_str()) {
            problems
                .push(format!("add crates/{name} to CRATES in crates/core/tests/layers/main.rs"));
            let none = Order { folder: "", layers: &[] };
            problems.extend(Crate::read(&entry.path()).problems(&none));
        }
    }
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}
