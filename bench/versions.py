"""Two builds of liken and a peer in turns: has a change made anything slower?

Three speeds stand for the rest: a sweep of RMLS, BM25 over all documents, and LambdaMART. Passes of
the build before, of the build after and of the peer take turns in one run, and the best pass of each
counts; on a noisy machine nothing else can be compared. One thread, so that what others do on the
machine disturbs less. The two builds must give the same numbers, to the last bit.

Usage: .venv/bin/python bench/versions.py BEFORE [AFTER] [--passes N]
  BEFORE and AFTER are cargo target folders in which `cargo build --release -p liken --examples` has run;
  AFTER is the project's own if it is not given.
"""

import os

# Before LightGBM is loaded, as in rank.py.
os.environ["BENCH_THREADS"] = "1"

import argparse
import sys
import tempfile
from pathlib import Path

import bm25s
import numpy as np

import kernels
import rank
from bilinear import SCIPY, scaled, sweep_source, week


def with_target(folder, make):
    """What `make` makes while cargo's target folder is `folder`."""
    before = os.environ.get("CARGO_TARGET_DIR")
    if folder is not None:
        os.environ["CARGO_TARGET_DIR"] = str(folder)
    try:
        return make()
    finally:
        os.environ.pop("CARGO_TARGET_DIR", None)
        if before is not None:
            os.environ["CARGO_TARGET_DIR"] = before


def kernel(name, source, builds, peer, passes):
    """The best pass of a kernel in every build, and of the peer."""
    runners = []
    for number, folder in enumerate(builds):
        own = source.with_name(f"{number}-{source.name}")
        os.link(source, own)
        runners.append(with_target(folder, lambda: kernels.Liken(name, own, 1)))
    runners.append(kernels.Peer(peer))
    best = [float("inf")] * len(runners)
    for _ in range(passes):
        best = [min(b, runner.seconds()) for b, runner in zip(best, runners)]
    first, second = (runner.result() for runner in runners[:2])
    for array in first:
        if not np.array_equal(first[array], second[array]):
            sys.exit(f"{name}: {array} differs between the builds")
    return best


def rmls(folder, builds, passes):
    x, r, y = with_target(builds[1], lambda: week(folder, 0.3))
    x_t, r_t, y_t = x.T.tocsr(), r.T.tocsr(), y.T.tocsr()
    start = scaled(np.random.default_rng(0).standard_normal((y.shape[1], 200), dtype=np.float32))

    def factors():
        return scaled(y_t @ (r_t @ (x @ scaled(x_t @ (r @ (y @ start))))))

    return kernel("sweeps", sweep_source(folder, (x, r, y), 200), builds, factors, passes), f"{SCIPY}, three factors"


def bm25(folder, builds, passes):
    docs, queries = kernels.bm25_bags()
    index, asked = kernels.bm25_peer(docs, queries)

    def scores():
        for terms in asked:
            index.get_scores_from_ids(terms)

    source = kernels.save(folder, "bm25", docs=docs, queries=queries)
    return kernel("bm25", source, builds, scores, passes), f"bm25s {bm25s.__version__}, numpy"


def lambdamart(folder, builds, passes):
    train = rank.synthetic(queries=1000)
    settings = {"trees": 50, "leaves": 31, "rate": 0.1}
    ours = []
    for number, target in enumerate(builds):
        own = folder / str(number)
        own.mkdir()
        ours.append(with_target(target, lambda: rank.Liken(own)))
    best = [float("inf")] * 3
    for _ in range(passes):
        found = [liken.fit(train, None, settings, 1, patience=0)["seconds"] for liken in ours]
        found.append(rank.peer(train, None, settings, 1)[1])
        best = [min(b, seconds) for b, seconds in zip(best, found)]
    if not np.array_equal(*(liken.scores(train) for liken in ours)):
        sys.exit("lambdamart: the scores differ between the builds")
    for liken in ours:
        liken.close()
    return best, rank.LIGHTGBM


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path, nargs="?")
    parser.add_argument("--passes", type=int, default=7)
    args = parser.parse_args()
    print("| one thread, best of passes in turns | before | after | after / before | peer | peer / after | peer is |")
    print("|---|---|---|---|---|---|---|")
    cases = ("a sweep of RMLS, d = 200", rmls), ("BM25, all documents", bm25), ("LambdaMART, 50 trees", lambdamart)
    for title, case in cases:
        with tempfile.TemporaryDirectory() as folder:
            (before, after, peer), name = case(Path(folder), (args.before, args.after), args.passes)
        times = " | ".join(kernels.show(seconds) for seconds in (before, after))
        print(f"| {title} | {times} | {after / before:.3f} | {kernels.show(peer)} | {peer / after:.2f} | {name} |", flush=True)


if __name__ == "__main__":
    main()
