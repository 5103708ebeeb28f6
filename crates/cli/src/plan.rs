//! `liken plan`: memory, seconds and disk of a fit before it is begun; and what `liken train`
//! says and refuses by the same reckoning.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use liken::Run;
use liken::data::Dataset;
use liken::features::Counts;
use liken::file::NewFile;
use liken::matchers::{Mixture, Params, methods, plan_all, plan_parts};
use liken::memory;
use liken::memory::Bytes;
use liken::plan::{Machine, Plan, Rates, Shape};
use liken::training::scores_judged;

use crate::console::{Console, Usage};
use crate::output::{Format, Grid, TableFormat, grouped, json};
use crate::settings::{ParamArgs, TextArgs, resolve};
use crate::tables::NOTHING;

/// Seconds that a calibration takes, and those of a quick look.
const THOROUGH: f64 = 8.0;
const QUICK: f64 = 1.0;

/// Say what a fit would take: memory, seconds and disk.
#[derive(Args)]
#[command(after_help = "\
The size is that of a dataset, or of the numbers given: queries, documents, features and
non-zeros as `liken stats` names them (n_x, n_y, d_x, d_y, n_x·c_x, n_y·c_y, n_x·ñ^y). Seconds
follow from the rates of this machine, which --calibrate measures once and keeps in the user's
cache; without, a quick look is taken each time.

Examples:
  liken plan --calibrate
  liken plan DATASET --dim 1000
  liken plan DATASET --methods rmls --set start=random --set sweeps=10
  liken plan --queries 94022 --documents 111631 --query-features 213535 --doc-features 195926 \\
    --nnz-x 376088 --nnz-y 658623 --nnz-r 163598 --dim 1000")]
pub struct PlanArgs {
    /// Dataset folder to count; else give the numbers.
    #[arg(conflicts_with_all = ["queries", "n_docs", "query_features", "doc_features", "nnz_x", "nnz_y", "nnz_r"],
        required_unless_present_any = ["queries", "calibrate"])]
    dataset: Option<PathBuf>,

    /// Training queries.
    #[arg(long, value_name = "N", requires_all = ["n_docs", "query_features", "doc_features", "nnz_x", "nnz_y", "nnz_r"])]
    queries: Option<u64>,

    /// Documents.
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

    /// Scores that validation computes each time it is asked: its queries (1000 at most) times the
    /// documents ranked for each [default: 0, no validation].
    #[arg(long, value_name = "N", requires = "queries")]
    validation_scores: Option<u64>,

    /// Methods and mixes to plan for, line by line [default: every method, a row each].
    #[arg(long, value_name = "M,M", value_delimiter = ',')]
    methods: Option<Vec<String>>,

    /// Sweeps of rmls, as --set rmls.sweeps=N.
    #[arg(long, value_name = "N")]
    sweeps: Option<usize>,

    #[command(flatten)]
    params: ParamArgs,

    #[command(flatten)]
    text: TextArgs,

    /// Measure this machine and keep what was found.
    #[arg(long)]
    calibrate: bool,

    /// How to print it.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn run(args: &PlanArgs, console: &Console) -> anyhow::Result<()> {
    let mut models = Vec::new();
    let names = args.methods.clone().unwrap_or_else(every_method);
    let mixtures = names.iter().map(|name| Mixture::parse(name)).collect::<Result<Vec<_>, _>>()?;
    let settings = resolve(&args.text, &args.params, &mixtures)?;
    for (name, mut params) in settings.models {
        if let (Params::Rmls(rmls), Some(sweeps)) = (&mut params, args.sweeps) {
            rmls.sweeps = sweeps;
        }
        params.check()?;
        models.push((name, params));
    }
    let machine = if args.calibrate { calibrate(console)? } else { Known::here(console)? };
    let plans: Vec<Plan> = match (&args.dataset, args.shape()) {
        (Some(path), _) => console.run(|run| {
            let dataset = Dataset::open(path)?;
            let all = models.iter().map(|(_, params)| params);
            let counts = Counts::of(&dataset, &Params::prepared(&settings.preparation, all), run)?;
            let judged = scores_judged(&dataset, &counts);
            plans_of(&mixtures, &models, &machine, |params| Ok(Shape::of(&counts, params, judged)))
        })?,
        (None, Some(shape)) => plans_of(&mixtures, &models, &machine, |params| {
            let shape = Shape { dim: params.dim().unwrap_or(1) as u64, ..shape };
            shape.check()?;
            Ok(shape)
        })?,
        (None, None) => Vec::new(),
    };
    let mut out = console.out();
    match args.format {
        Format::Json => json(
            &mut out,
            &serde_json::json!({ "machine": machine.machine, "measured": machine.how, "plans": plans }),
        )?,
        Format::Table => {
            machine.print(&mut out)?;
            match args.methods {
                None if !plans.is_empty() => {
                    writeln!(out)?;
                    print_rows(&mut out, &plans)?;
                }
                _ => plans.iter().try_for_each(|plan| write!(out, "\n{plan}"))?,
            }
        }
    }
    Ok(out.flush()?)
}

impl PlanArgs {
    fn shape(&self) -> Option<Shape> {
        Some(Shape {
            classes: 0,
            n_queries: self.queries?,
            n_docs: self.documents?,
            d_x: self.query_features?,
            d_y: self.doc_features?,
            nnz_x: self.nnz_x?,
            nnz_y: self.nnz_y?,
            nnz_r: self.nnz_r?,
            dim: 1,
            judged: self.validation_scores.unwrap_or(0),
        })
    }
}

/// Every method once: some have a second name.
fn every_method() -> Vec<String> {
    let mut all: Vec<(&str, Params)> = Vec::new();
    for (name, _) in methods() {
        if let Ok(params) = Params::named(name)
            && !all.iter().any(|(_, known)| *known == params)
        {
            all.push((name, params));
        }
    }
    all.into_iter().map(|(name, _)| name.to_owned()).collect()
}

/// A plan for each method, and one for each part of a mix.
fn plans_of(
    mixtures: &[Mixture],
    models: &[(String, Params)],
    machine: &Known,
    shape: impl Fn(&Params) -> liken::Result<Shape>,
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
        let mut of_mix = plan_parts(parts, Some(machine.rates()), memory::allowed());
        if of_mix.len() > 1 {
            of_mix
                .iter_mut()
                .for_each(|plan| plan.method = format!("{} in {mixture}", plan.method));
        }
        plans.extend(of_mix);
    }
    Ok(plans)
}

/// One row a method.
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

/// The machine, and how it is known.
struct Known {
    machine: Machine,
    how: String,
}

impl Known {
    /// What a calibration kept, if it was on this machine; else a quick look.
    fn here(console: &Console) -> anyhow::Result<Self> {
        if let Some(machine) = kept() {
            return Ok(Known { machine, how: "by calibration".into() });
        }
        let machine = console.run(|run| Machine::measure(QUICK, &std::env::temp_dir(), run))?;
        let how = "just now, in about a second; --calibrate looks longer and keeps it".into();
        Ok(Known { machine, how })
    }

    fn rates(&self) -> &Rates {
        &self.machine.rates
    }

    fn print(&self, out: &mut impl Write) -> anyhow::Result<()> {
        let Machine { processor, threads, rates, one_thread } = &self.machine;
        writeln!(out, "{processor}, {threads} threads, measured {}", self.how)?;
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
                "a second",
            ),
        ] {
            grid.row([name.to_owned(), all, one, unit.to_owned()]);
        }
        Ok(grid.write(out, TableFormat::Table)?)
    }
}

fn calibrate(console: &Console) -> anyhow::Result<Known> {
    let Some(path) = cache() else {
        let message = "--calibrate: there is no place to keep it; set XDG_CACHE_HOME or HOME";
        return Err(Usage(message.into()).into());
    };
    // Files are measured where models are written, as a rule.
    let machine = console.run(|run| Machine::measure(THOROUGH, Path::new("."), run))?;
    let file = NewFile::create(&path)?;
    serde_json::to_writer_pretty(file.writer()?, &machine)?;
    file.commit()?;
    Ok(Known { machine, how: format!("now, kept in {}", path.display()) })
}

/// Where the calibration lies.
fn cache() -> Option<PathBuf> {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let folder = named("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| named("HOME").map(|home| Path::new(&home).join(".cache")))?;
    folder.is_absolute().then(|| folder.join("liken").join("machine.json"))
}

/// What was measured on this machine, for as many threads as are in use.
fn kept() -> Option<Machine> {
    let text = std::fs::read_to_string(cache()?).ok()?;
    let machine: Machine = serde_json::from_str(&text).ok()?;
    let one = Machine { threads: 1, rates: machine.one_thread, ..machine.clone() };
    [machine, one].into_iter().find(Machine::is_this)
}

/// Fits above this size announce themselves.
const LARGE: u64 = 256 << 20;

/// Says what the fits will take before they start, if it is much, and refuses what does not fit
/// into the memory that `run` allows.
pub fn announce(
    counts: &Counts,
    params: &[Params],
    judged: u64,
    run: &Run<'_>,
    console: &Console,
) -> liken::Result<()> {
    give_back();
    let limit = run.memory();
    let machine = kept();
    let params: Vec<&Params> = params.iter().collect();
    let rates = machine.as_ref().map(|machine| &machine.rates);
    for plan in plan_all(counts, &params, judged, rates, limit) {
        if plan.total >= LARGE || plan.total > limit / 10 {
            console.note(plan.to_string().trim_end());
        }
        plan.check(limit)?;
    }
    Ok(())
}

/// Gives memory that reading no longer needs back to the system: the allocator keeps it for
/// itself, and the fit takes its own from the system.
fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it touches nothing but the allocator's free lists, under its own locks.
    unsafe {
        libc::malloc_trim(0);
    }
}
