"""Checks liken's measures of diversity against TREC's ndeval (through pyndeval, which compiles it).

Judgments by subtopic and runs are drawn at random: queries with one to twelve subtopics, documents
that answer several, documents that nobody judged, queries whose documents answer nothing, grades
below zero. Every query's value of every measure is compared; a difference above 1e-9 ends the run
with exit code 1. ERR_IA@1 and alpha_DCG@1 are left out: ndeval does not divide at the first rank.

Usage: .venv/bin/python bench/diversity.py [number of draws]   (pyndeval needs a C compiler)
"""

import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import pyndeval

ROOT = Path(__file__).resolve().parent.parent
LIKEN = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "liken"
MEASURES = {
    "alpha-nDCG": "alpha_nDCG", "alpha-DCG": "alpha_DCG", "ERR-IA": "ERR_IA",
    "nERR-IA": "nERR_IA", "P-IA": "P_IA", "strec": "StRecall",
}
CUTS = [1, 2, 5, 10, 20]
UNDIVIDED = {"alpha-DCG@1", "ERR-IA@1"}
TOLERANCE = 1e-9


def draw(seed):
    """Judgments (query, subtopic, document, grade) and a run (query, document, score)."""
    rng = random.Random(seed)
    # pyndeval numbers subtopics as they come, ndeval by their names: a query that nobody asks
    # names them in order, so that gains which differ by rounding alone are added up alike.
    judged = [("first", str(subtopic), "d0", 0) for subtopic in range(1, 13)]
    run = []
    for number in range(60):
        query, documents = f"q{number}", [f"d{i}" for i in range(rng.choice([5, 40, 120]))]
        subtopics, share = rng.randint(1, 12), rng.choice([0.0, 0.02, 0.1, 0.4])
        pool = rng.sample(documents, max(1, len(documents) * 2 // 3))
        for document in pool:
            for subtopic in range(1, subtopics + 1):
                if rng.random() < 0.7:
                    grade = rng.choice([1, 1, 2, 3]) if rng.random() < share else rng.choice([0, 0, -2])
                    judged.append((query, str(subtopic), document, grade))
        if not any(line[0] == query for line in judged):
            judged.append((query, "1", pool[0], 0))
        ranked = rng.sample(documents, rng.randint(1, len(documents)))
        run.extend((query, document, float(1000 - rank)) for rank, document in enumerate(ranked))
    return judged, run


def of_liken(judged, run, names, level, work):
    """liken's values by query."""
    qrels, results = work / "qrels", work / "run"
    qrels.write_text("".join(f"{q} {s} {d} {g}\n" for q, s, d, g in judged))
    results.write_text("".join(f"{q} Q0 {d} 1 {score} made\n" for q, d, score in run))
    asked = [word for name in names for word in ("-m", name)]
    command = [str(LIKEN), "eval", "--per-query", "--level", str(level), *asked, "--format", "json",
               str(qrels), str(results)]
    told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    values = told["rows"][0]["values"]
    return {query: {name: values[m][q] for m, name in enumerate(told["measures"])}
            for q, query in enumerate(told["queries"])}


def main():
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    worst, compared = 0.0, 0
    for seed in range(draws):
        judged, run = draw(seed)
        for alpha, level in [(0.5, 1), (0.2, 1), (0.5, 2)]:
            theirs = [f"{name}@{cut}" for name in MEASURES for cut in CUTS]
            theirs = [name for name in theirs if name not in UNDIVIDED]
            bracket = lambda name: "" if alpha == 0.5 or name in ("P-IA", "strec") else f"(alpha={alpha})"
            ours = [f"{MEASURES[name]}{bracket(name)}@{cut}"
                    for name, cut in (whole.split("@") for whole in theirs)]
            evaluator = pyndeval.RelevanceEvaluator(judged, theirs, alpha=alpha, relevance_level=level)
            expected = evaluator.evaluate(run)
            with tempfile.TemporaryDirectory() as work:
                found = of_liken(judged, run, ours, level, Path(work))
            assert found.keys() == expected.keys()
            for query, values in found.items():
                for name, their_name in zip(ours, theirs):
                    difference = abs(values[name] - expected[query][their_name])
                    compared += 1
                    worst = max(worst, difference)
                    if difference > TOLERANCE:
                        print(f"{query} {name}: liken {values[name]}, ndeval {expected[query][their_name]}")
    print(f"{compared} values compared, largest difference {worst:.1e}")
    sys.exit(worst > TOLERANCE)


if __name__ == "__main__":
    main()
