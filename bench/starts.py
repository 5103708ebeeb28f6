"""RMLS with its defaults beside both settings that it chooses between, on seven logs, and the limit without
dimensions beside them.

For every log an experiment file is written and replayed: RMLS with its defaults, as published (random start),
and with a spectral start on log clicks, each with three seeds, and association. On the larger logs the
defaults are also tested against BM25, BLTM, walk + BM25 and LSI_qd + BM25. Logs are made by `liken synth` or
read from LIKEN_DATA (default ../shared/data). The last table has the time of training.

Usage: make bench-starts, or python3 bench/starts.py [log ...]
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import mean

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
LIKEN = Path(os.environ.get("LIKEN", TARGET / "release" / "liken"))
DATA = Path(os.environ.get("LIKEN_DATA", ROOT.parent / "shared" / "data"))
WORK = TARGET / "bench-starts"
SEEDS = (1, 2, 3)
MEASURES = ["nDCG@5", "nDCG@10", "nDCG@1", "nDCG@3"]

ZZQUERYLOG = """
[data]
lenient = true
[data.documents]
path = "zzquerylog/zz_query_log_documents.json"
columns = { id = "wikidata_id", title = "labels.pt", body = "descriptions.pt" }
[data.queries]
path = "zzquerylog/zz_query_log_queries.json"
columns = { id = "query_id", text = "query" }
[data.clicks]
path = "zzquerylog/zz_query_log_queries.json"
columns = { query = "query_id", doc = "results.entity_id", clicks = "results.clicks" }
[data.judgments]
path = "zzquerylog/zz_query_log_qrels.txt"
[preparation.analyzer]
language = "pt"
"""
# Name: the data, and the dimensions.
LOGS = {
    "demo": ('synthetic = { log = "demo" }', 300),
    "zzquerylog": (ZZQUERYLOG, 300),
    "nfcorpus": ('data = { beir = "nfcorpus" }', 300),
    "week02": ('synthetic = { log = "one-week", scale = 0.2 }', 30),
    "half002": ('synthetic = { log = "half-year", scale = 0.02 }', 300),
    "week": ('synthetic = { log = "one-week" }', 100),
    "half02": ('synthetic = { log = "half-year", scale = 0.2 }', 30),
}
# Logs on which the defaults are tested against other methods: the data, the dimensions.
TESTED = {
    "week-tests": (LOGS["week"][0], 100),
    "half02-tests": (LOGS["half02"][0], 100),
}
# Logs on which the limit is compared with a spectral start and mixed with it, all with the earlier weights of clicks.
LIMITS = {"week02-limit": (LOGS["week02"][0], 300), "demo-limit": LOGS["demo"], "nfcorpus-limit": LOGS["nfcorpus"]}
# Logs on which training is timed: the words of `liken synth`, the dimensions of PLS.
TIMED = {"demo-times": (["demo"], 100), "week-times": (["one-week"], 100)}
# Logs on which half the dimensions come from each start.
HALVES = {f"{name}-halves": LOGS[name] for name in ("demo", "zzquerylog", "nfcorpus", "week02", "half002")}
OTHERS = ["bm25", "bltm", "walk+bm25", "lsi_qd+bm25"]
LOG_CLICKS = {"weighting": "sum", "response": "log", "features": {"query_clicks": 0.3}}
SETTINGS = {
    "default": {},
    "published": {"published": True},
    "spectral": {"start": "spectral", "sweeps": 1, **LOG_CLICKS},
}


def value(of):
    if isinstance(of, dict):
        return "{ " + ", ".join(f"{key} = {value(inner)}" for key, inner in of.items()) + " }"
    return json.dumps(of)


def replay(name, data, models, rows, baseline):
    """The outcome of an experiment with these models."""
    text = f"name = {json.dumps(name)}\n"
    tables = "".join(
        f"[models.{json.dumps(model)}]\n" + "".join(f"{key} = {value(of)}\n" for key, of in params.items())
        for model, params in models.items()
    )
    compare = f"[compare]\nrows = {json.dumps(rows)}\nmeasures = {json.dumps(MEASURES)}\nbaseline = {json.dumps(baseline)}\n"
    path = WORK / f"{name}.toml"
    path.write_text(text + data + "\n" + tables + compare)
    more = ["--threads", os.environ["BENCH_THREADS"]] if "BENCH_THREADS" in os.environ else []
    print(f"{name} …", file=sys.stderr, flush=True)
    out = subprocess.run([LIKEN, "--quiet", "experiment", path, "--format", "json", "--data", DATA, *more],
                         stdout=subprocess.PIPE, check=True)
    (WORK / f"{name}.json").write_bytes(out.stdout)
    found = json.loads(out.stdout)
    return {row["name"]: row for row in found["comparison"]["rows"]}, dict(found["fits"])


def cells(row):
    return [cell["mean"] for cell in row["cells"]]


def starts(name, data, dim):
    models = {
        f"{setting}-{seed}": {"method": "rmls", "dim": dim, "seed": seed, **params}
        for setting, params in SETTINGS.items() for seed in SEEDS
    }
    rows, fits = replay(name, data, models, ["bm25", "association", *models], "bm25")
    means = {
        setting: [mean(values) for values in zip(*(cells(rows[f"{setting}-{seed}"]) for seed in SEEDS))]
        for setting in SETTINGS
    }
    for other in ("bm25", "association"):
        means[other] = cells(rows[other])
    chosen = set()
    for seed in SEEDS:
        report = fits[f"default-{seed}"]
        kept = report["steps"][report["best"]]
        chosen.add(f"{kept['origin']}: {kept['step']}")
    better = max(means["published"][0], means["spectral"][0])
    shown = [f"{means[kind][0]:.4f} / {means[kind][1]:.4f}" for kind in ("bm25", *SETTINGS, "association")]
    print(f"| {name}, {dim} | " + " | ".join(shown)
          + f" | {means['default'][0] / better:.3f} | {', '.join(sorted(chosen))} | {report['participation_ratio']:.1f} |", flush=True)


def tests(name, data, dim):
    models = {"rmls": {"method": "rmls", "dim": dim}, "lsi_qd": {"method": "lsi_qd", "dim": dim}}
    rows, _ = replay(name, data, models, ["rmls", *OTHERS], "rmls")
    for other in OTHERS:
        against = rows[other]["cells"][0]["against"]
        print(f"| {name}, {dim} | rmls {rows['rmls']['cells'][0]['mean']:.4f} | {other} {rows[other]['cells'][0]['mean']:.4f} "
              f"| {-against['difference']:+.4f} | {against['t_holm']:.1e} |", flush=True)


def limits(name, data, dim):
    limit = {"method": "association", **LOG_CLICKS}
    models = {
        "half": {**limit, "y_power": 0.0},
        "one": {**limit, "depth": "one"},
        "spectral": {"method": "rmls", "dim": dim, **SETTINGS["spectral"]},
    }
    mixes = ["spectral+half", "half+bm25", "spectral+half+bm25"]
    rows, _ = replay(name, data, models, ["bm25", *models, *mixes], "bm25")
    shown = " | ".join(f"{rows[row]['cells'][1]['mean']:.4f}" for row in [*models, *mixes])
    print(f"| {name}, {dim} | {shown} |", flush=True)


def halves(name, data, dim):
    """Half the dimensions from each start, mixed with weights by validation, beside all of them from one."""
    models = {
        f"{start}-{n}": {"method": "rmls", "dim": n, "start": start}
        for start in ("random", "spectral") for n in (dim, dim // 2)
    }
    both = f"random-{dim // 2}+spectral-{dim // 2}"
    rows, _ = replay(name, data, models, ["bm25", *models, both], "bm25")
    shown = " | ".join(f"{rows[row]['cells'][1]['mean']:.4f}" for row in (f"random-{dim}", f"spectral-{dim}", both))
    print(f"| {name}, {dim} | {shown} |", flush=True)


def times(name, log, dim):
    """Seconds of whole commands that train, the best of three."""
    data, model = WORK / f"{name}-data", WORK / f"{name}-model"
    if not data.exists():
        subprocess.run([LIKEN, "--quiet", "synth", *log, "-o", data], stdout=subprocess.DEVNULL, check=True)

    def seconds(*words):
        best = float("inf")
        for _ in range(3):
            start = time.perf_counter()
            subprocess.run([LIKEN, "--quiet", "train", *words, data, "-o", model, "--force"], stdout=subprocess.DEVNULL, check=True)
            best = min(best, time.perf_counter() - start)
        return best

    commands = [("bm25",), ("pls", "--dim", str(dim)), ("association",), ("association", "--set", "depth=one")]
    shown = [seconds(*command) for command in commands]
    print(f"| {name}, {dim} | " + " | ".join(f"{value:.2f}" for value in shown) + f" | {shown[2] / shown[1]:.2f} |", flush=True)


# The header of each table, its logs, and what writes a row.
TABLES = [
    ("nDCG@5 / @10 on test, means of three seeds\n| log, dimensions | bm25 | default | published | spectral, log clicks | association "
     "| default / better | chosen | participation ratio |", LOGS, starts),
    ("| log, dimensions, nDCG@5 | rmls | other | difference | p, t-test after Holm |", TESTED, tests),
    ("| log, dimensions, nDCG@10 | half | one | spectral | spectral+half | half+bm25 | spectral+half+bm25 |", LIMITS, limits),
    ("| log, dimensions, nDCG@10 | random | spectral | half of each, mixed |", HALVES, halves),
    ("| log, dimensions of PLS, seconds | bm25 | pls | association | association, one sweep | association / pls |", TIMED, times),
]


def main():
    WORK.mkdir(parents=True, exist_ok=True)
    for header, logs, row in TABLES:
        asked = [name for name in sys.argv[1:] or logs if name in logs]
        if asked:
            print(f"{header}\n{'|---' * (header.splitlines()[-1].count('|') - 1)}|", flush=True)
        for name in asked:
            row(name, *logs[name])


if __name__ == "__main__":
    main()
