"""Runs liken's kernels and the same work in other libraries side by side.

Every case gives both sides the same arrays, lets their passes take turns (liken on one thread,
liken on two, each peer on one), takes the best pass of each, checks that all computed the same
numbers, and prints a row of a Markdown table. Times on a shared machine move; ratios of passes
that ran side by side move much less, so the ratios are the result. A wrong number ends the run
with exit code 1; no time does.

Usage: make bench, or .venv/bin/python bench/kernels.py [case ...]
"""

import os

# Before numpy is loaded: its BLAS and numba read these once.
for variable in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{variable}_NUM_THREADS"] = "1"

import copy
import json
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import bm25s
import numpy as np
import scipy
import scipy.sparse as sp
import sklearn
from safetensors.numpy import load_file, save_file
from scipy.sparse.linalg import LinearOperator, svds
from sklearn.utils.extmath import randomized_svd

SCIPY = f"scipy {scipy.__version__}"
SKLEARN = f"scikit-learn {sklearn.__version__}"
NUMPY = f"numpy {np.__version__}"
BM25S = f"bm25s {bm25s.__version__}"

THREADS = (1, 2)


# --- both sides -------------------------------------------------------------------------------


def program():
    """The compiled example, wherever cargo puts it."""
    target = os.environ.get("CARGO_TARGET_DIR")
    if target is None:
        command = ["cargo", "metadata", "--format-version=1", "--no-deps"]
        target = json.loads(subprocess.check_output(command))["target_directory"]
    return Path(target) / "release" / "examples" / "bench"


class Liken:
    """A kernel of liken, loaded and waiting: every pass is one line in and its seconds out."""

    def __init__(self, kernel, source, threads):
        self.output = source.with_name(f"{source.stem}-{kernel}-{threads}.safetensors")
        self.process = subprocess.Popen(
            [program(), kernel, source, self.output, str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def seconds(self):
        print(file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())

    def result(self):
        self.process.stdin.close()
        if self.process.wait() != 0:
            sys.exit(f"liken: {self.process.stdout.read()}")
        return load_file(self.output)


class Peer:
    """A function of another library, timed the same way: results are dropped off the clock."""

    def __init__(self, function):
        self.function = function
        self.last = None

    def seconds(self):
        self.last = None
        start = time.perf_counter()
        self.last = self.function()
        return time.perf_counter() - start

    def result(self):
        return self.last


def run(title, kernel, source, peers, passes, check):
    """Lets liken and `peers` (name: function) take turns; `check(liken, peer)` each result."""
    liken = [Liken(kernel, source, threads) for threads in THREADS]
    others = [Peer(function) for function in peers.values()]
    runners = liken + others
    best = [float("inf")] * len(runners)
    for _ in range(passes):
        best = [min(b, runner.seconds()) for b, runner in zip(best, runners)]
    one, two = (runner.result() for runner in liken)
    for name in one:
        if not np.array_equal(one[name], two[name]):
            sys.exit(f"{title}: {name} differs between one and two threads")
    for name, other in zip(peers, others):
        problem = check(one, other.result())
        if problem:
            sys.exit(f"{title}: liken and {name} disagree: {problem}")
    for name, seconds in zip(peers, best[len(liken) :]):
        row = [title, show(best[0]), show(best[1]), show(seconds)]
        row += [f"{seconds / best[0]:.2f}", f"{seconds / best[1]:.2f}", name]
        print("| " + " | ".join(row) + " |", flush=True)
    return best[: len(liken)]


def show(seconds):
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.1f} ms"


def far(found, expected, tolerance):
    """How far two arrays are apart beside the largest entry, if that is too far."""
    apart = np.abs(found - expected).max() / np.abs(expected).max()
    return None if apart <= tolerance else f"{apart:.1e} apart, more than {tolerance:.0e}"


# --- data -------------------------------------------------------------------------------------


def arrays(**named):
    """Sparse matrices and arrays as liken's files hold them."""
    flat = {}
    for name, value in named.items():
        if sp.issparse(value):
            flat[f"{name}.starts"] = value.indptr.astype(np.uint64)
            flat[f"{name}.indices"] = value.indices.astype(np.uint32)
            flat[f"{name}.values"] = value.data.astype(np.float32)
            flat[f"{name}.cols"] = np.array([value.shape[1]], np.uint64)
        else:
            flat[name] = value
    return flat


def csr(flat, name):
    """A sparse matrix out of liken's three arrays, with scipy's 32-bit indices."""
    starts, columns = flat[f"{name}.starts"].astype(np.int32), int(flat[f"{name}.cols"][0])
    parts = flat[f"{name}.values"], flat[f"{name}.indices"].astype(np.int32), starts
    return sp.csr_matrix(parts, shape=(len(starts) - 1, columns))


def save(folder, name, **named):
    path = folder / f"{name}.safetensors"
    save_file(arrays(**named), path)
    return path


def random_csr(random, n_rows, n_cols, per_row):
    """About `per_row` entries in every row, at random places."""
    rows = np.repeat(np.arange(n_rows), per_row)
    columns = random.integers(0, n_cols, n_rows * per_row)
    values = random.random(n_rows * per_row, dtype=np.float32)
    return tidy(sp.csr_matrix((values, (rows, columns)), shape=(n_rows, n_cols)))


def tidy(matrix):
    matrix.sum_duplicates()
    matrix.sort_indices()
    return matrix


def one_week(folder):
    """X, R and Y of the synthetic log with the shape of the papers' one week."""
    path = folder / "week.safetensors"
    if not path.exists():
        subprocess.run([program(), "one-week", path], check=True)
    flat = load_file(path)
    return [csr(flat, name) for name in ("x", "r", "y")]


# --- cases ------------------------------------------------------------------------------------


def memory(folder):
    """The yardstick for the products: bytes a second when nothing is computed."""
    v = np.random.default_rng(0).random(32 << 20, dtype=np.float32)
    to, source = np.zeros_like(v), save(folder, "memory", v=v)

    def copied_by_numpy():
        np.copyto(to, v)
        return to

    peers = {NUMPY: copied_by_numpy}
    seconds = run("copy of 128 MiB", "copy", source, peers, 7, lambda a, b: far(a["out"], b, 0))
    copied = [2 * v.nbytes / s for s in seconds]
    triad = [Liken("triad", source, threads) for threads in THREADS]
    best = [min(times) for times in zip(*([t.seconds() for t in triad] for _ in range(7)))]
    for t in triad:
        t.result()
    tripled = [3 * v.nbytes / s for s in best]
    for name, rates in ("copy", copied), ("triad", tripled):
        NOTES.append(f"{name}: {rates[0] / 1e9:.1f} GB/s on one thread, {rates[1] / 1e9:.1f} on two")
    BANDWIDTH[:] = [max(pair) for pair in zip(copied, tripled)]


def product(folder):
    random = np.random.default_rng(1)
    n, width = 200_000, 64
    a = random_csr(random, n, n, 10)
    b = random.standard_normal((n, width), dtype=np.float32)
    source = save(folder, "product", a=a, b=b)

    def check(liken, peer):
        return far(liken["out"], peer, 1e-5)

    run("CSR × dense, new block", "product", source, {SCIPY: lambda: a @ b}, 9, check)
    best = run("CSR × dense, same block", "into", source, {SCIPY: lambda: a @ b}, 9, check)
    account("CSR × dense, same block", best, [a], [n], width)


def transpose(folder):
    a = random_csr(np.random.default_rng(1), 200_000, 200_000, 10)

    def check(liken, peer):
        return None if (csr(liken, "out") != peer).nnz == 0 else "not the same matrix"

    source = save(folder, "transpose", a=a)
    run("CSR transpose", "transpose", source, {SCIPY: lambda: a.T.tocsr()}, 15, check)


def operator(folder):
    x, r, y = one_week(folder)
    b = np.random.default_rng(2).standard_normal((y.shape[1], 200), dtype=np.float32)
    x_t = x.T.tocsr()
    source = save(folder, "operator", x=x, r=r, y=y, b=b)
    peers = {SCIPY: lambda: x_t @ (r @ (y @ b))}
    best = run("C·B, d = 200", "operator", source, peers, 7, lambda a, b: far(a["out"], b, 1e-5))
    account("C·B, d = 200", best, [y, r, x_t], [y.shape[0], r.shape[0], x_t.shape[0]], 200)


def svd(folder):
    x, r, y = one_week(folder)
    x_t, r_t, y_t, dim = x.T.tocsr(), r.T.tocsr(), y.T.tocsr(), 100
    wanted = {"dim": np.array([dim], np.uint64), "tolerance": np.array([SVD_TOLERANCE[0]])}
    source = save(folder, "svd", x=x, r=r, y=y, **wanted)
    c = LinearOperator(
        (x.shape[1], y.shape[1]),
        dtype=np.float32,
        matvec=lambda v: x_t @ (r @ (y @ v)),
        rmatvec=lambda u: y_t @ (r_t @ (x @ u)),
        matmat=lambda v: x_t @ (r @ (y @ v)),
        rmatmat=lambda u: y_t @ (r_t @ (x @ u)),
    )
    explicit = x_t @ r @ y

    def residuals(u, sigma, v):
        """max(‖Cv − σu‖, ‖Cᵀu − σv‖) of every triplet beside σ₁, and beside its own σ."""
        sides = (c.matmat(v) - u * sigma, c.rmatmat(u) - v * sigma)
        each = np.max([np.linalg.norm(side, axis=0) for side in sides], axis=0)
        return (each / sigma.max()).max(), (each / sigma).max()

    def check(liken, peer):
        ours = liken["u"], liken["sigma"], liken["v"]
        theirs = peer[0], peer[1], peer[2].T
        shares, limits = residuals(*theirs), residuals(*ours)
        NOTES.append(
            f"SVD: worst residual beside σ₁ {limits[0]:.1e} (liken, {liken['iterations'][0]} "
            f"iterations) and {shares[0]:.1e} (peer); beside its own σ {limits[1]:.1e} and {shares[1]:.1e}"
        )
        for share, limit in zip([*limits, *shares], 2 * SVD_TOLERANCE):
            # Both sides compute in f32: a residual met exactly may be found a little larger.
            if share > 1.01 * limit:
                return f"residuals {limits} (liken) and {shares} (peer), not {SVD_TOLERANCE}"
        return far(np.sort(ours[1]), np.sort(theirs[1]), SVD_TOLERANCE[0])

    peers = {
        f"{SCIPY} svds (ARPACK) on the three factors": lambda: svds(
            c, k=dim, tol=ARPACK_TOLERANCE, rng=np.random.default_rng(0)
        ),
        f"{SKLEARN} randomized_svd on the explicit C": lambda: randomized_svd(
            explicit, dim, n_oversamples=dim // 2, n_iter=POWER_ITERATIONS, random_state=0
        ),
    }
    run("top 100 triplets of C", "svd", source, peers, 1, check)


# The largest residual of a triplet, beside σ₁ and beside its own σ; liken iterates until it meets
# both. The peers get the cheapest setting that meets them too (an untimed search found it), and
# the check fails if one no longer does.
SVD_TOLERANCE = (1e-2, 0.05)
ARPACK_TOLERANCE = 1e-1
POWER_ITERATIONS = 7


def measures(folder):
    random = np.random.default_rng(3)
    n_queries, n_docs, n_judged = 1_000, 10_000, 50
    # Permutations, so that no two documents tie.
    scores = random.permuted(np.tile(np.arange(n_docs, dtype=np.float32), (n_queries, 1)), axis=1)
    judged_docs = np.sort([random.choice(n_docs, n_judged, replace=False) for _ in range(n_queries)])
    grades = random.integers(0, 5, (n_queries, n_judged)).astype(np.float32)
    starts = np.arange(n_queries + 1) * n_judged
    judged = sp.csr_matrix((grades.ravel(), judged_docs.ravel(), starts), shape=(n_queries, n_docs))
    discount = 1 / np.log2(np.arange(2, 12))

    def straightforward():
        out = np.empty((n_queries, 2))
        for i in range(n_queries):
            grade = np.zeros(n_docs, np.float32)
            row = slice(judged.indptr[i], judged.indptr[i + 1])
            grade[judged.indices[row]] = judged.data[row]
            ranked = grade[np.argsort(-scores[i])]
            ideal = np.sort(judged.data[row])[::-1][:10]
            out[i, 0] = (2 ** ranked[:10] - 1) @ discount / ((2**ideal - 1) @ discount)
            ranks = np.flatnonzero(ranked >= 1) + 1
            out[i, 1] = np.mean(np.arange(1, len(ranks) + 1) / ranks)
        return out

    source = save(folder, "measures", scores=scores, judged=judged)
    run("nDCG@10 and AP", "measures", source, {NUMPY: straightforward}, 7, lambda a, b: far(a["out"], b, 1e-6))


def bm25_bags():
    """Documents and queries of words as frequent as a language's: the k-th falls as 1/k."""
    random = np.random.default_rng(4)
    n_docs, n_terms, n_queries = 50_000, 50_000, 1_000

    def bags(n, per_row):
        rows = np.repeat(np.arange(n), per_row)
        words = (n_terms ** random.random(len(rows))).astype(np.int64) - 1
        return tidy(sp.csr_matrix((np.ones(len(rows), np.float32), (rows, words)), shape=(n, n_terms)))

    docs, queries = bags(n_docs, random.integers(20, 101, n_docs)), bags(n_queries, 4)
    queries.data[:] = 1  # each word of a query once
    return docs, queries


def bm25_peer(docs, queries):
    """bm25s over the same documents, and the queries as it takes them."""
    tokens = [np.repeat(row.indices, row.data.astype(int)).tolist() for row in docs]
    vocabulary = {str(term): term for term in range(docs.shape[1])}
    index = bm25s.BM25(k1=1.2, b=0.75, method="lucene")
    index.index((tokens, vocabulary), show_progress=False)
    return index, [row.indices.astype(np.int32) for row in queries]


def bm25(folder):
    docs, queries = bm25_bags()
    plain, asked = bm25_peer(docs, queries)
    compiled = copy.copy(plain)
    compiled.activate_numba_scorer()

    class Scorer:
        """Scores every query; looks at the scores, as liken does, only when nobody times it."""

        def __init__(self, index):
            self.index, self.looks = index, False

        def __call__(self):
            out = np.zeros((len(asked), 2))
            for i, terms in enumerate(asked):
                scores = self.index.get_scores_from_ids(terms)
                if self.looks:
                    out[i] = scores.sum(dtype=np.float64), scores.max()
            return out

    scorers = {f"{BM25S}, numpy": Scorer(plain), f"{BM25S}, numba": Scorer(compiled)}

    def check(liken, _):
        for score in scorers.values():
            score.looks = True
            problem = far(liken["out"], score(), 1e-5)
            if problem:
                return problem

    source = save(folder, "bm25", docs=docs, queries=queries)
    run("BM25, all documents", "bm25", source, scorers, 7, check)


# --- the table --------------------------------------------------------------------------------

NOTES = []
BANDWIDTH = []


def account(title, best, factors, rows_out, width):
    """Flops and bytes of sparse × dense products, and the share of the memory's rate reached."""
    entries = sum(factor.nnz for factor in factors)
    flops = 2 * entries * width
    # Read once: indices, values and row starts of the sparse factor, and each row of the dense
    # factor that is asked for, as often as it is asked for; written once: the product.
    gathered = 4 * entries * width
    streamed = sum(8 * f.nnz + 8 * f.shape[0] for f in factors) + 4 * width * sum(rows_out)
    line = f"{title}: {flops / 1e6:.0f} Mflop, {gathered / 1e6:.0f} MB gathered + {streamed / 1e6:.0f} MB streamed"
    for threads, seconds in zip(THREADS, best):
        rate = (gathered + streamed) / seconds
        line += f"; {threads} thread(s): {flops / seconds / 1e9:.1f} Gflop/s, {rate / 1e9:.1f} GB/s"
        if BANDWIDTH:
            line += f" ({100 * rate / BANDWIDTH[threads - 1]:.0f} % of the yardstick)"
    NOTES.append(line)


CASES = [memory, product, transpose, operator, svd, measures, bm25]


def main():
    wanted = sys.argv[1:] or [case.__name__ for case in CASES]
    unknown = set(wanted) - {case.__name__ for case in CASES}
    if unknown:
        sys.exit(f"no such case: {', '.join(sorted(unknown))}; there are {', '.join(c.__name__ for c in CASES)}")
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}\n")
    print("| case | liken, 1 thread | liken, 2 threads | peer | peer / liken 1 | peer / liken 2 | peer is |")
    print("|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            if case.__name__ in wanted:
                case(Path(folder))
    print("\n" + "\n".join(f"- {note}" for note in NOTES))


if __name__ == "__main__":
    main()
