//! `liken plan`: estimates memory, time and disk space of a fit. `liken train` prints the same estimate
//! and refuses fits that do not fit into memory.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use liken::Run;
use liken::data::Dataset;
use liken::features::Counts;
use liken::matchers::{Mixture, Params, plan_all, plan_parts};
use liken::memory;
use liken::memory::Bytes;
use liken::plan::{FitShape, Machine, Plan};
use liken::training::n_validation_scores;

use crate::console::{Console, usage};
use crate::output::{Format, Grid, NOTHING, TableFormat, counted, grouped, write_file};
use crate::settings::{ParamArgs, TextArgs, every_method, parse_mixtures, resolve};

/// Seconds of a calibration and of a quick measurement.
const CALIBRATION: f64 = 8.0;
const QUICK: f64 = 1.0;

/// Estimate memory, time and disk space of a fit.
#[derive(Args)]
#[command(after_help = "\
The estimate is for a dataset, or for given numbers of queries, documents, features and non-zeros,
which `liken stats` calls n_x, n_y, d_x, d_y, n_x·c_x, n_y·c_y, n_x·ñ^y. Times follow from the speed of
this machine, which --calibrate measures once and stores in the user's cache; without it, a quick
measurement is made each time.

Examples:
  liken plan --calibrate
  liken plan DATASET --dim 1000
  liken plan DATASET --methods rmls --set start=random --set sweeps=10
  liken plan --queries 94022 --documents 111631 --query-features 213535 --doc-features 195926 \\
    --nnz-x 376088 --nnz-y 658623 --nnz-r 163598 --dim 1000")]
pub struct PlanArgs {
    /// Dataset folder; without it, give the numbers.
    #[arg(conflicts_with_all = ["queries", "n_docs", "query_features", "doc_features", "nnz_x", "nnz_y", "nnz_r"],
        required_unless_present_any = ["queries", "calibrate"])]
    dataset: Option<PathBuf>,

    /// Training queries.
    #[arg(long, value_name = "N", requires_all = ["n_docs", "query_features", "doc_features", "nnz_x", "nnz_y", "nnz_r"])]
    queries: Option<u64>,

    /// Number of documents.
    #[arg(id = "n_docs", long = "documents", value_name = "N", requires = "queries")]
    documents: Option<u64>,

    /// Query features.
    #[arg(long, value_name = "N", requires = "queries")]
    query_features: Option<u64>,

    /// Document features.
    #[arg(long, value_name = "N", requires = "queries")]
    doc_features: Option<u64>,

    /// Non-zeros of all queries.
    #[arg(long, value_name = "N", requires = "queries")]
    nnz_x: Option<u64>,

    /// Non-zeros of all documents.
    #[arg(long, value_name = "N", requires = "queries")]
    nnz_y: Option<u64>,

    /// Training pairs.
    #[arg(long, value_name = "N", requires = "queries")]
    nnz_r: Option<u64>,

    /// Scores per validation: its queries (at most 1000) times the documents ranked for each
    /// [default: 0, no validation].
    #[arg(long, value_name = "N", requires = "queries")]
    validation_scores: Option<u64>,

    /// Methods and mixes to estimate in detail [default: every method, one row each].
    #[arg(long, value_name = "M,M", value_delimiter = ',')]
    methods: Option<Vec<String>>,

    /// Sweeps of rmls, the same as --set rmls.sweeps=N.
    #[arg(long, value_name = "N")]
    sweeps: Option<usize>,

    #[command(flatten)]
    params: ParamArgs,

    #[command(flatten)]
    text: TextArgs,

    /// Measure the speed of this machine and store it.
    #[arg(long)]
    calibrate: bool,

    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn run(args: &PlanArgs, console: &Console) -> anyhow::Result<()> {
    let mut models = Vec::new();
    let names = args.methods.clone().unwrap_or_else(every_method);
    let mixtures = parse_mixtures(&names)?;
    let settings = resolve(&args.text, &args.params, &mixtures)?;
    for (name, mut params) in settings.models {
        if let (Params::Rmls(rmls), Some(sweeps)) = (&mut params, args.sweeps) {
            rmls.sweeps = Some(sweeps);
        }
        params.check()?;
        models.push((name, params));
    }
    let machine = if args.calibrate {
        Measured::calibrate(console)?
    } else {
        Measured::stored_or_quick(console)?
    };
    let plans: Vec<Plan> = match (&args.dataset, args.shape()) {
        (Some(path), _) => console.run(|run| {
            let dataset = Dataset::open(path)?;
            let all = models.iter().map(|(_, params)| params);
            let counts = Counts::of(&dataset, &Params::prepared(&settings.preparation, all), run)?;
            let judged = n_validation_scores(&dataset, &counts);
            plans_of(&mixtures, &models, &machine, |params| {
                Ok(FitShape::of(&counts, params, judged))
            })
        })?,
        (None, Some(shape)) => plans_of(&mixtures, &models, &machine, |params| {
            let shape = FitShape { dim: params.dim().unwrap_or(1) as u64, ..shape };
            shape.check()?;
            Ok(shape)
        })?,
        (None, None) => Vec::new(),
    };
    let described = serde_json::json!({
        "machine": machine.machine, "measured": machine.how, "plans": plans
    });
    console.print(args.format, &described, |out| {
        machine.print(out)?;
        if args.methods.is_some() || plans.is_empty() {
            return Ok(plans.iter().try_for_each(|plan| write!(out, "\n{plan}"))?);
        }
        writeln!(out)?;
        print_rows(out, &plans)
    })
}

impl PlanArgs {
    fn shape(&self) -> Option<FitShape> {
        Some(FitShape {
            classes: 0,
            n_queries: self.queries?,
            n_docs: self.documents?,
            d_x: self.query_features?,
            d_y: self.doc_features?,
            nnz_x: self.nnz_x?,
            nnz_y: self.nnz_y?,
            nnz_r: self.nnz_r?,
            dim: 1,
            validation_scores: self.validation_scores.unwrap_or(0),
            warm_start: false,
        })
    }
}

/// One plan per method and per part of a mix.
fn plans_of(
    mixtures: &[Mixture],
    models: &[(String, Params)],
    machine: &Measured,
    shape: impl Fn(&Params) -> liken::Result<FitShape>,
) -> liken::Result<Vec<Plan>> {
    let mut plans = Vec::new();
    for mixture in mixtures {
        let names = mixture.parts.iter().map(|(_, name)| name);
        let params: Vec<&Params> = names
            .filter_map(|name| models.iter().find(|(known, _)| known == name))
            .map(|(_, params)| params)
            .collect();
        let shapes =
            params.iter().map(|params| shape(params)).collect::<liken::Result<Vec<_>>>()?;
        let parts = shapes.into_iter().zip(params.iter().copied());
        let mut of_mix = plan_parts(parts, Some(&machine.machine.rates), memory::default_limit());
        let several = of_mix.len() > 1;
        for plan in of_mix.iter_mut().filter(|_| several) {
            plan.method = format!("{} in {mixture}", plan.method);
        }
        plans.extend(of_mix);
    }
    Ok(plans)
}

/// Writes one row per method.
fn print_rows(out: &mut impl Write, plans: &[Plan]) -> anyhow::Result<()> {
    let mut grid =
        Grid::new(["method", "memory", "scratch files", "on disk", "seconds", "most memory for"])
            .left(&[5]);
    for plan in plans {
        let bytes = |bytes: u64| match bytes {
            0 => NOTHING.to_owned(),
            bytes => Bytes(bytes).to_string(),
        };
        let seconds = plan.total_seconds().map_or(NOTHING.to_owned(), |s| format!("{s:.1}"));
        let most = plan.lines.iter().max_by_key(|(_, bytes)| *bytes);
        let most = most.map_or(NOTHING, |(what, _)| what.as_str());
        grid.row([
            plan.method.clone(),
            bytes(plan.total),
            bytes(plan.scratch),
            bytes(plan.disk),
            seconds,
            most.to_owned(),
        ]);
    }
    Ok(grid.write(out, TableFormat::Table)?)
}

/// The speed of the machine, and how it was measured.
struct Measured {
    machine: Machine,
    how: String,
}

impl Measured {
    /// The stored calibration of this machine, or else a quick measurement.
    fn stored_or_quick(console: &Console) -> anyhow::Result<Self> {
        if let Some(machine) = stored() {
            return Ok(Measured { machine, how: "by calibration".into() });
        }
        let machine = console.run(|run| Machine::measure(QUICK, &std::env::temp_dir(), run))?;
        let how =
            "just now, in about a second; --calibrate measures longer and stores the result".into();
        Ok(Measured { machine, how })
    }

    /// Measures the machine and stores the result.
    fn calibrate(console: &Console) -> anyhow::Result<Self> {
        let path = cache().ok_or_else(|| {
            usage("--calibrate: there is no folder to store the result; set XDG_CACHE_HOME or HOME")
        })?;
        // The current folder is usually on the disk where models are written.
        let machine = console.run(|run| Machine::measure(CALIBRATION, Path::new("."), run))?;
        write_file(&path, |out| Ok(serde_json::to_writer_pretty(out, &machine)?))?;
        Ok(Measured { machine, how: format!("now, stored in {}", path.display()) })
    }

    fn print(&self, out: &mut impl Write) -> anyhow::Result<()> {
        let Machine { processor, threads, rates, one_thread } = &self.machine;
        writeln!(out, "{processor}, {}, measured {}", counted(threads, "thread"), self.how)?;
        let mut grid = Grid::new(["rate", "all threads", "one thread", ""]).left(&[3]);
        let giga = |x: f64| format!("{:.2}", x / 1e9);
        for (name, all, one, unit) in [
            ("gather, in the cache", giga(rates.gather_near), giga(one_thread.gather_near), "GB/s"),
            ("gather, beyond it", giga(rates.gather_far), giga(one_thread.gather_far), "GB/s"),
            ("stream", giga(rates.stream), giga(one_thread.stream), "GB/s"),
            (
                "dense product, f64",
                format!("{:.1}", rates.gemm),
                format!("{:.1}", rates.gemm_one),
                "Gflop/s",
            ),
            ("disk, with checksum", giga(rates.disk), giga(one_thread.disk), "GB/s"),
            (
                "terms of text",
                grouped(rates.terms as u64),
                grouped(one_thread.terms as u64),
                "per second",
            ),
        ] {
            grid.row([name.to_owned(), all, one, unit.to_owned()]);
        }
        Ok(grid.write(out, TableFormat::Table)?)
    }
}

/// The file of the calibration.
fn cache() -> Option<PathBuf> {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let folder = named("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| named("HOME").map(|home| Path::new(&home).join(".cache")))?;
    folder.is_absolute().then(|| folder.join("liken").join("machine.json"))
}

/// The stored calibration, if it is of this machine and for the number of threads in use.
fn stored() -> Option<Machine> {
    let text = std::fs::read_to_string(cache()?).ok()?;
    let machine: Machine = serde_json::from_str(&text).ok()?;
    let one = Machine { threads: 1, rates: machine.one_thread, ..machine.clone() };
    [machine, one].into_iter().find(Machine::is_this)
}

/// Fits above this size are announced.
const LARGE: u64 = 256 << 20;

/// Prints the estimate of large fits before they start, and refuses fits beyond the memory limit of
/// `run`.
pub fn announce(
    counts: &Counts,
    params: &[Params],
    judged: u64,
    warm_start: bool,
    run: &Run<'_>,
    console: &Console,
) -> liken::Result<()> {
    free_unused();
    let limit = run.memory();
    let machine = stored();
    let params: Vec<&Params> = params.iter().collect();
    let rates = machine.as_ref().map(|machine| &machine.rates);
    for plan in plan_all(counts, &params, judged, warm_start, rates, limit) {
        if plan.total >= LARGE || plan.total > limit / 10 {
            console.note(plan.to_string().trim_end());
        }
        plan.check(limit)?;
    }
    Ok(())
}

/// Returns free memory of the allocator to the system: reading leaves much, and the fit maps its own.
fn free_unused() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it only changes the allocator's free lists, under its own locks.
    unsafe {
        libc::malloc_trim(0);
    }
}
