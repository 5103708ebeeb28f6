"""Evaluates 1,000 queries of 1,000 results each with liken and with pytrec_eval side by side.

Two pieces of work: the evaluation alone (pytrec_eval's `evaluate` on dictionaries at hand, liken
on files it has read), and everything from the files on (`parse_qrel`, `parse_run`, `evaluate`).
Passes of all take turns, the best pass of each counts, every value of every query is compared,
and a row of a Markdown table is printed. A wrong number ends the run with exit code 1; no time
does.

Usage: make bench-eval, or .venv/bin/python bench/eval.py [queries [results]]
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytrec_eval

PASSES = 5
JUDGED = 200
SETS = {
    "nDCG@10": ["ndcg_cut.10"],
    "map, ndcg, ndcg_cut, P, recall, recip_rank, Rprec, bpref": [
        "map",
        "ndcg",
        "ndcg_cut",
        "P",
        "recall",
        "recip_rank",
        "Rprec",
        "bpref",
    ],
}


def program():
    """The compiled example, wherever cargo puts it."""
    target = os.environ.get("CARGO_TARGET_DIR")
    if target is None:
        command = ["cargo", "metadata", "--format-version=1", "--no-deps"]
        target = json.loads(subprocess.check_output(command))["target_directory"]
    return Path(target) / "release" / "examples" / "eval"


def write_files(folder, queries, results):
    """Graded judgments, a fifth of them not retrieved, and a run with some tied scores."""
    draw = random.Random(1)
    with open(folder / "qrels", "w") as qrels, open(folder / "run", "w") as run:
        for q in range(queries):
            docs = draw.sample(range(1_000_000), results + JUDGED // 5)
            found = docs[:results]
            judged = draw.sample(found, min(results, JUDGED - JUDGED // 5)) + docs[results:]
            for doc in judged:
                grade = draw.choice([0, 0, 0, 0, 1, 1, 2, 3])
                qrels.write(f"{q + 1} 0 doc{doc:07} {grade}\n")
            for rank, doc in enumerate(found):
                score = round(30 - 25 * rank / results + draw.random() / 100, 3)
                run.write(f"{q + 1} Q0 doc{doc:07} {rank + 1} {score} bench\n")


class Liken:
    """The evaluation, loaded and waiting: every pass is one line in and its seconds out."""

    def __init__(self, folder, threads, measures):
        command = [program(), folder / "qrels", folder / "run", str(threads), *measures]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def time(self, work):
        self.process.stdin.write(work + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def values(self):
        self.process.stdin.close()
        values = json.loads(self.process.stdout.readline())
        assert self.process.wait() == 0
        return values


class Pytrec:
    """pytrec_eval with the files read."""

    def __init__(self, folder, measures):
        self.folder = folder
        self.measures = set(measures)
        self.qrels, self.run = self.read()

    def read(self):
        with open(self.folder / "qrels") as qrels, open(self.folder / "run") as run:
            return pytrec_eval.parse_qrel(qrels), pytrec_eval.parse_run(run)

    def time(self, work):
        if work == "read":
            start = time.perf_counter()
            qrels, run = self.read()
            self.result = pytrec_eval.RelevanceEvaluator(qrels, self.measures).evaluate(run)
        else:
            evaluator = pytrec_eval.RelevanceEvaluator(self.qrels, self.measures)
            start = time.perf_counter()
            self.result = evaluator.evaluate(self.run)
        return time.perf_counter() - start


def compare(ours, theirs):
    """The largest difference between two values; both must have the same queries and names."""
    worst = 0.0
    assert ours.keys() == theirs.keys()
    for query, values in theirs.items():
        assert values.keys() == ours[query].keys(), (values.keys(), ours[query].keys())
        worst = max(worst, *(abs(values[name] - ours[query][name]) for name in values))
    return worst


def main():
    queries = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    results = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    print(f"{queries} queries of {results} results, {JUDGED} judged; best of {PASSES} passes, ms\n")
    print("| measures | work | pytrec_eval | liken, 1 thread | 2 threads | ratio 1 | ratio 2 | largest difference |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        write_files(folder, queries, results)
        for title, measures in SETS.items():
            peers = [Pytrec(folder, measures)] + [Liken(folder, n, measures) for n in (1, 2)]
            rows = []
            for work in ("evaluate", "read"):
                best = [min(times) for times in zip(*([peer.time(work) for peer in peers] for _ in range(PASSES)))]
                rows.append((work, best))
            worst = max(compare(liken.values(), peers[0].result) for liken in peers[1:])
            failed |= worst > 1e-9
            for work, best in rows:
                name = {"evaluate": "evaluation alone", "read": "reading the files, too"}[work]
                shown = " | ".join(f"{1000 * seconds:.1f}" for seconds in best)
                print(f"| {title} | {name} | {shown} | {best[0] / best[1]:.1f} | {best[0] / best[2]:.1f} | {worst:.1e} |")
                sys.stdout.flush()
    if failed:
        sys.exit("the values differ")


if __name__ == "__main__":
    main()
