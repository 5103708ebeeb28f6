"""LambdaMART beside LightGBM: how good, how fast, and LightGBM's models scored by liken.

Both sides get the same rows, the same number of trees and leaves, the same rate and the same validation, and two
threads. What else is set is chosen on validation, from the same list of settings on both sides. Rankings are
measured by one function for all (NDCG with gain 2^g − 1; a query without relevant rows counts 0; of equal scores
the larger document id comes first). Times are of learning alone, rows being in memory, in turns, the best of
several. The figures go into docs/BENCHMARKS.md between two marks, everything into bench-rank.json in cargo's
target folder; a wrong number ends the run with exit code 1, no time does.

Usage: make bench-rank, or .venv/bin/python bench/rank.py [case ...]
  cases: mq2008 example times large models
"""

import os

THREADS = os.environ.get("BENCH_THREADS", "2")
for variable in ("OMP", "OPENBLAS", "MKL", "RAYON"):
    os.environ[f"{variable}_NUM_THREADS"] = THREADS

import gzip
import itertools
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import lightgbm
import numpy as np

from bilinear import DOCS, machine
from kernels import program, show

BEGIN, END = "<!-- rank: begin -->", "<!-- rank: end -->"
LIGHTGBM = f"LightGBM {lightgbm.__version__}"
DATA = Path(os.environ.get("LIKEN_DATA", "../shared/data"))
SEEDS = (1, 2, 3, 4, 5)
LINES, KEPT = [], {}


def say(line=""):
    print(line, flush=True)
    LINES.append(line)


def keep(case, **figures):
    """Keeps figures for bench-rank.json."""
    KEPT.setdefault(case, []).append(figures)


# --- tables -----------------------------------------------------------------------------------


class Table:
    """Rows of features, those of a query side by side; `ties` says which of equal scores comes first."""

    def __init__(self, values, grades, groups, ids=None):
        self.values = np.ascontiguousarray(values, np.float32)
        self.grades = np.asarray(grades, np.float32)
        self.groups = np.asarray(groups, np.uint32)
        order = range(len(grades)) if ids is None else np.argsort(np.array(ids))[::-1]
        self.ties = np.empty(len(grades), int)
        self.ties[order] = np.arange(len(grades))

    def write(self, path):
        for name in "values", "grades", "groups":
            getattr(self, name).tofile(f"{path}.{name}")
        return path

    def ndcg(self, scores, k, empty=0.0):
        """Mean NDCG@k; a query without relevant rows counts `empty`."""
        found, start = [], 0
        for n in self.groups:
            rows = slice(start, start + n)
            start += n
            gains = 2.0 ** self.grades[rows].astype(float) - 1
            order = np.lexsort((self.ties[rows], -scores[rows]))[:k]
            discount = 1 / np.log2(np.arange(len(order)) + 2)
            ideal = np.sort(gains)[::-1][:k] @ discount
            found.append(gains[order] @ discount / ideal if ideal > 0 else empty)
        return float(np.mean(found))

    def lightgbm(self, reference=None):
        # Made anew every time: cutting into bins is part of learning on both sides.
        return lightgbm.Dataset(self.values, self.grades, group=self.groups, reference=reference, free_raw_data=False)


def letor(*parts):
    values, grades, queries, ids = [], [], [], []
    for part in parts:
        with gzip.open(DATA / "mq2008" / f"S{part}.txt.gz", "rt") as lines:
            for line in lines:
                row, comment = line.split("#", 1)
                grade, query, *features = row.split()
                grades.append(float(grade)), queries.append(query), ids.append(comment.split()[2])
                values.append([float(feature.split(":")[1]) for feature in features])
    return Table(values, grades, [len(list(rows)) for _, rows in itertools.groupby(queries)], ids)


def fold(number):
    """Training, validation and test of a fold of MQ2008."""
    parts = [(number + i) % 5 + 1 for i in range(5)]
    return letor(*parts[:3]), letor(parts[3]), letor(parts[4])


def sparse(name):
    """LightGBM's own example of ranking."""
    grades, rows = [], []
    for line in (DATA / "lightgbm-rank" / f"rank.{name}").read_text().splitlines():
        grade, *features = line.split()
        grades.append(float(grade))
        rows.append([feature.split(":") for feature in features])
    values = np.zeros((len(rows), 301), np.float32)
    for row, features in enumerate(rows):
        for feature, value in features:
            values[row, int(feature)] = float(value)
    groups = [int(n) for n in (DATA / "lightgbm-rank" / f"rank.{name}.query").read_text().split()]
    return Table(values, grades, groups)


def synthetic(queries=5000, rows=100, features=136):
    """Features of four shapes; a few of them and chance decide the grades 0 to 4."""
    random = np.random.default_rng(1)
    n = queries * rows
    values = np.empty((n, features), np.float32)
    for feature in range(features):
        values[:, feature] = (
            lambda: random.normal(size=n),
            lambda: random.exponential(size=n).round(3),
            lambda: random.poisson(3, size=n),
            lambda: np.where(random.random(n) < 0.7, 0, random.random(n)),
        )[feature % 4]()
    x = values.T
    signal = x[0] + 0.5 * x[4] * x[1] + 0.3 * np.sin(3 * x[8]) + 0.2 * x[2] + 2 * x[3] + random.normal(size=n)
    grades = np.digitize(signal, np.quantile(signal, [0.55, 0.8, 0.92, 0.98]))
    return Table(values, grades, [rows] * queries)


# --- both sides -------------------------------------------------------------------------------


class Liken:
    """A process of liken's that keeps tables in memory."""

    def __init__(self, folder):
        self.folder = folder
        self.process = subprocess.Popen(
            [program().with_name("rank")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.known = {}

    def ask(self, *words):
        print(*words, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        try:
            return json.loads(answer)
        except ValueError:
            sys.exit(f"liken: {' '.join(map(str, words))}: {answer}")

    def name(self, table):
        if table is None:
            return "-"
        if id(table) not in self.known:
            name = f"t{len(self.known)}"
            # The table is kept beside its name, so that no other gets its id.
            self.known[id(table)] = name, table
            self.ask("read", name, table.write(self.folder / name))
        return self.known[id(table)][0]

    def processor(self):
        """Seconds of processor time that the process has had."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def fit(self, train, validation, settings, seed, **fixed):
        words = [f"{key}={json.dumps(value)}" for key, value in {**fixed, **settings, "seed": seed}.items()]
        names = self.name(train), self.name(validation)
        before = self.processor()
        answer = self.ask("fit", *names, "lambdamart", *words)
        return answer | {"processor": self.processor() - before}

    def scores(self, table):
        path = self.folder / "scores"
        self.ask("score", self.name(table), path)
        return np.fromfile(path)

    def of_model(self, model, table):
        path = self.folder / "scores"
        self.ask("model", model, self.name(table), path)
        return np.fromfile(path)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


# liken's names of LightGBM's parameters.
NAMES = {
    "trees": "num_iterations", "leaves": "num_leaves", "rate": "learning_rate", "min_leaf": "min_data_in_leaf",
    "min_hessian": "min_sum_hessian_in_leaf", "l2": "lambda_l2", "bagging": "bagging_fraction",
    "feature_share": "feature_fraction", "norm": "lambdarank_norm",
}


def peer(train, validation, settings, seed, patience=0, **fixed):
    """Learns with LightGBM: the model, the seconds, and those of processor time."""
    params = {NAMES[key]: value for key, value in {**fixed, **settings}.items()}
    params |= {"objective": "lambdarank", "metric": "ndcg", "eval_at": [10], "num_threads": int(THREADS), "verbose": -1,
               "seed": seed, "bagging_freq": 1 if settings.get("bagging", 1) < 1 else 0}
    stop = [lightgbm.early_stopping(patience, verbose=False)] if patience and validation else []
    start, processor = time.perf_counter(), time.process_time()
    data = train.lightgbm()
    against = [validation.lightgbm(data)] if validation else []
    model = lightgbm.train(params, data, valid_sets=against, callbacks=stop)
    return model, time.perf_counter() - start, time.process_time() - processor


# --- cases ------------------------------------------------------------------------------------

BUDGET = {"trees": 300, "leaves": 31, "rate": 0.05}
# What is chosen from on validation, the same for both sides.
CHOICES = [
    {"bagging": 0.7, "feature_share": share, "min_leaf": min_leaf, "norm": norm}
    for share, min_leaf, norm in itertools.product((0.3, 0.6), (20, 50), (True, False))
]


def mq2008(folder):
    """Five folds: settings chosen by the mean of validation, then five seeds on the test."""
    liken = Liken(folder)
    folds = [fold(number) for number in range(5)]

    def ours(train, validation, settings, seed):
        liken.fit(train, validation, settings, seed, patience=50, **BUDGET)
        return liken.scores

    def theirs(train, validation, settings, seed):
        model, *_ = peer(train, validation, settings, seed, patience=50, **BUDGET)
        return lambda table: model.predict(table.values)

    say(f"MQ2008, five folds, NDCG@10; {BUDGET['trees']} trees, {BUDGET['leaves']} leaves, rate {BUDGET['rate']}, "
        f"stopped after 50 trees that are no better; one of {len(CHOICES)} settings chosen on validation, "
        f"mean of {len(SEEDS)} seeds.\n")
    say("| learner | chosen | validation | test | by seed |")
    say("|---|---|---|---|---|")
    means = {}
    for name, learn in ("liken", ours), (LIGHTGBM, theirs):
        def measured(settings, seeds, part):
            return [
                np.mean([data[part].ndcg(learn(data[0], data[1], settings, seed)(data[part]), 10) for data in folds])
                for seed in seeds
            ]

        merits = [np.mean(measured(settings, SEEDS[:2], 1)) for settings in CHOICES]
        chosen = CHOICES[int(np.argmax(merits))]
        tests = measured(chosen, SEEDS, 2)
        means[name] = np.mean(tests)
        shown = ", ".join(f"{key} {value}" for key, value in chosen.items())
        say(f"| {name} | {shown} | {max(merits):.4f} | {means[name]:.4f} | {' '.join(f'{test:.4f}' for test in tests)} |")
        keep("mq2008", learner=name, chosen=chosen, merits=merits, tests=tests)
    say()
    liken.close()
    if means["liken"] < means[LIGHTGBM] - 0.003:
        sys.exit(f"MQ2008: {means['liken']:.4f} is more than 0.003 below {means[LIGHTGBM]:.4f}")


EXAMPLE = {"trees": 100, "leaves": 31, "rate": 0.1, "min_leaf": 50, "min_hessian": 5.0, "bagging": 0.9}


def example(folder, seeds=20):
    """LightGBM's example of ranking with its parameters."""
    liken = Liken(folder)
    train, test = sparse("train"), sparse("test")
    found = {"liken": [], LIGHTGBM: []}
    for seed in range(1, seeds + 1):
        liken.fit(train, None, EXAMPLE, seed)
        found["liken"].append(liken.scores(test))
        model, *_ = peer(train, None, EXAMPLE, seed)
        found[LIGHTGBM].append(model.predict(test.values))
    liken.close()
    say(f"LightGBM's example with its parameters, mean of {seeds} seeds (standard deviation).\n")
    say("| learner | NDCG@1 | NDCG@3 | NDCG@5 |")
    say("|---|---|---|---|")
    means = {}
    for name, runs in found.items():
        values = np.array([[test.ndcg(scores, k, empty=1.0) for k in (1, 3, 5)] for scores in runs])
        means[name] = values.mean(axis=0)
        cells = [f"{mean:.4f} ({std:.4f})" for mean, std in zip(means[name], values.std(axis=0))]
        say(f"| {name} | {' | '.join(cells)} |")
        keep("example", learner=name, means=list(means[name]))
    say()
    if (means["liken"] < means[LIGHTGBM] - 0.005).any():
        sys.exit("LightGBM's example: more than 0.005 below")


def race(liken, label, train, validation, settings, passes):
    """Both sides in turns; the best of each."""
    ours, theirs = [], []
    for _ in range(passes):
        fit = liken.fit(train, validation, settings, 1, patience=0)
        ours.append((fit["seconds"], fit["processor"]))
        theirs.append(peer(train, validation, settings, 1)[1:])
    (seconds, work), (their_seconds, their_work) = (np.min(side, axis=0) for side in (ours, theirs))
    rows = f"{len(train.grades):,} × {train.values.shape[1]}"
    say(f"| {label} | {rows} | {settings['trees']} | {show(seconds)} | {show(work)} | {show(their_seconds)} | {show(their_work)} "
        f"| {their_seconds / seconds:.2f} | {their_work / work:.2f} |")
    keep("times", label=label, liken=ours, peer=theirs)


def heading():
    say(f"Seconds of learning, {THREADS} threads, best of several in turns.\n")
    say(f"| table | rows × features | trees | liken | processor | {LIGHTGBM} | processor | LightGBM / liken | by processor |")
    say("|---|---|---|---|---|---|---|---|---|")


def times(folder):
    """How long learning takes on small tables."""
    liken = Liken(folder)
    heading()
    train, validation, _ = fold(0)
    race(liken, "MQ2008, fold 1, with validation", train, validation, BUDGET, 7)
    race(liken, "LightGBM's example", sparse("train"), None, EXAMPLE, 7)
    say()
    liken.close()


def large(folder):
    """How long learning takes on half a million rows."""
    liken = Liken(folder)
    heading()
    race(liken, "synthetic, 5,000 queries", synthetic(), None, {"trees": 50, "leaves": 31, "rate": 0.1}, 3)
    say()
    liken.close()


def models(folder):
    """LightGBM's models, scored by liken."""
    liken = Liken(folder)
    train, validation, test = fold(0)
    small, other = sparse("train"), sparse("test")
    say("| model of LightGBM | rows scored | largest difference from its own scores |")
    say("|---|---|---|")
    for label, data, table, settings in (
        ("MQ2008, 300 trees", train, test, BUDGET),
        ("its example, 100 trees", small, other, EXAMPLE),
        ("MQ2008, 50 trees of 255 leaves", train, test, {"trees": 50, "leaves": 255, "rate": 0.1, "min_leaf": 2}),
    ):
        model, *_ = peer(data, None, settings, 1)
        path = folder / "model.txt"
        model.save_model(path)
        apart = np.abs(liken.of_model(path, table) - model.predict(table.values, raw_score=True)).max()
        say(f"| {label} | {len(table.grades):,} | {apart:.1e} |")
        keep("models", label=label, apart=apart)
        if apart > 1e-6:
            sys.exit(f"{label}: {apart} apart")
    say()
    liken.close()


# --- the page ---------------------------------------------------------------------------------

CASES = [mq2008, example, times, large, models]


def main():
    args = sys.argv[1:]
    wanted = args or [case.__name__ for case in CASES]
    unknown = set(wanted) - {case.__name__ for case in CASES}
    if unknown:
        sys.exit(f"no such case: {', '.join(sorted(unknown))}; there are {', '.join(c.__name__ for c in CASES)}")
    if not DATA.exists():
        sys.exit(f"{DATA}: not there; LIKEN_DATA names the folder with the data")
    say(f"Measured on {machine()}, {THREADS} threads; load at the start {os.getloadavg()[0]:.1f}.\n")
    for case in CASES:
        if case.__name__ in wanted:
            with tempfile.TemporaryDirectory() as folder:
                case(Path(folder))
            kept = program().parent.parent.parent / "bench-rank.json"
            kept.write_text(json.dumps({"machine": machine(), "figures": KEPT}, indent=1, default=float))
    page = DOCS / "BENCHMARKS.md"
    text = page.read_text()
    if not args and BEGIN in text:
        head, rest = text.split(BEGIN)
        page.write_text(head + BEGIN + "\n" + "\n".join(LINES) + "\n" + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
