"""Topic models beside scikit-learn and gensim, on newsgroups and on corpora with planted topics.

Both sides get the same matrix, the one that liken writes out (counts, or tf-idf rows of norm one), and two
threads. Times of different algorithms mean something only where they come to the same: every peer runs as it
comes, and liken's time is that of the shortest fit whose result is as good, by one function for all (the loss of
a factorisation, the energy that a subspace holds, the perplexity of held-out words). The figures go into
docs/BENCHMARKS.md between two marks, the plots into docs/plots/, everything into bench-topics.json in cargo's
target folder; a wrong number ends the run with exit code 1, no time does.

Usage: make bench-topics, or .venv/bin/python bench/topics.py [case ...]
  cases: nmf lsi lda sweeps growth million tables
"""

import os

THREADS = "2"
for variable in ("OMP", "OPENBLAS", "MKL", "NUMBA", "RAYON"):
    os.environ[f"{variable}_NUM_THREADS"] = THREADS

# Before kernels, which asks BLAS for one thread: it reads the number once.
import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import svds  # noqa: F401 (scipy has a BLAS of its own)
from sklearn.decomposition import NMF, LatentDirichletAllocation, TruncatedSVD, non_negative_factorization

import json
import logging
import re
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import gensim
from gensim.matutils import Sparse2Corpus
from gensim.models import LdaModel, LdaMulticore, LsiModel
from gensim.models.nmf import Nmf

from bilinear import DOCS, machine
from kernels import SKLEARN, csr, load_file, program, show

BEGIN, END = "<!-- topics: begin -->", "<!-- topics: end -->"
GENSIM = f"gensim {gensim.__version__}"
DATA = Path(os.environ.get("LIKEN_DATA", "../shared/data"))
LINES, KEPT = [], {}

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)


def say(line=""):
    print(line, flush=True)
    LINES.append(line)


def keep(case, **figures):
    """Keeps figures for bench-topics.json."""
    KEPT.setdefault(case, []).append(figures)


# --- both sides -------------------------------------------------------------------------------


def binary():
    return program().parent.parent / "liken"


def liken(*command):
    """Runs the program; its output."""
    done = subprocess.run([binary(), *map(str, command)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"liken {' '.join(map(str, command))}: {done.stderr}{done.stdout}")
    return done.stdout


class Corpus:
    """The documents of a dataset, read and waiting in a process of liken's."""

    def __init__(self, dataset, folder):
        self.folder = folder
        self.process = subprocess.Popen(
            [program().with_name("topics"), dataset], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, line):
        print(line, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        try:
            return json.loads(answer)
        except ValueError:
            sys.exit(f"liken: {line}: {answer}")

    def matrix(self):
        """tf-idf and counts (documents × terms) and the words."""
        path = self.folder / "matrix.safetensors"
        words = self.ask(f"matrix {path}")["words"]
        flat = load_file(path)
        return csr(flat, "tfidf"), csr(flat, "counts"), words

    def processor(self):
        """Seconds of processor time that the process has had."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def fit(self, method, output=False, **settings):
        """Fits a method: seconds, of processor time too (with what is written of it), report and, if asked
        for, `weights` (terms × topics) and `documents`."""
        path = self.folder / "fit.safetensors" if output else "-"
        line = " ".join(f"{key}={value}" for key, value in settings.items())
        before = self.processor()
        answer = self.ask(f"fit {path} {method} {line}")
        answer["processor"] = self.processor() - before
        if output:
            flat = load_file(path)
            name = "l_y" if "l_y" in flat else "weights"
            weights = csr(flat, name).toarray() if f"{name}.starts" in flat else flat[name]
            answer |= {"weights": weights, "documents": flat.get("documents")}
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def newsgroups(folder):
    """The training part of newsgroups as a dataset with classes."""
    path = folder / "newsgroups"
    if not path.exists():
        source = DATA / "newsgroups"
        if not source.exists():
            sys.exit(f"{source}: not there; LIKEN_DATA names the folder with the data")
        # Classes by their names.
        names = dict(line.split("\t") for line in (source / "label_names.txt").read_text().splitlines())
        labels = folder / "train.classes"
        labels.write_text("".join(f"{names[label]}\n" for label in (source / "train.labels").read_text().split()))
        liken("import", "--documents", source / "train.ldac.gz", "--vocabulary", source / "vocab.txt.gz",
              "--classes", labels, "-o", path)
    return path


def held_out(folder, words):
    """The counts of the test part of newsgroups over the words that training knows."""
    path = folder / "newsgroups-test"
    if not path.exists():
        source = DATA / "newsgroups"
        liken("import", "--documents", source / "test.ldac.gz", "--vocabulary", source / "vocab.txt.gz", "-o", path)
    known = {word: i for i, word in enumerate(words)}
    rows, columns, values = [], [], []
    with open(path / "documents.jsonl") as lines:
        for row, line in enumerate(lines):
            for word, n in json.loads(line)["body"].items():
                if word in known:
                    rows.append(row), columns.append(known[word]), values.append(n)
    return sp.csr_matrix((values, (rows, columns)), (row + 1, len(words)), dtype=np.float32)


def timed(function):
    start = time.perf_counter()
    found = function()
    return time.perf_counter() - start, found


def worked(function):
    """Seconds, seconds of processor time in this process, and what came of it."""
    start = time.process_time()
    seconds, found = timed(function)
    return seconds, time.process_time() - start, found


def bags(matrix):
    """Documents as gensim wants them, in memory."""
    return list(Sparse2Corpus(matrix, documents_columns=False))


# --- what is compared -------------------------------------------------------------------------


def loss(matrix, documents, weights):
    """‖D − VUᵀ‖²; D is sparse, so the product is never formed."""
    documents, weights = documents.astype(np.float64), weights.astype(np.float64)
    cross = np.einsum("ij,ij->", matrix @ weights, documents)
    return matrix.multiply(matrix).sum() - 2 * cross + np.einsum("ij,ij->", documents.T @ documents, weights.T @ weights)


def energy(matrix, basis):
    """‖D·Q‖² for an orthonormal basis Q of what the columns of `basis` (terms × d) span."""
    q, _ = np.linalg.qr(basis.astype(np.float64))
    return np.square(matrix @ q).sum()


def halves(matrix, seed=0):
    """Every document's words dealt out in two: one half to fold it in, the other to be predicted."""
    random = np.random.default_rng(seed)
    one = matrix.copy()
    one.data = random.binomial(matrix.data.astype(np.int64), 0.5).astype(np.float32)
    return one, (matrix - one).tocsr()


def perplexity(weights, halves, iterations=50, prior=0.1):
    """Perplexity of held-out words: θ by EM on one half of a document's words (with `prior` words more for
    every topic), p(w) = Σ θ_k φ_kw on the other. φ is a point estimate, the same use of it for all models."""
    phi = weights.T.astype(np.float64)
    phi = phi / phi.sum(axis=1, keepdims=True)
    phi = 0.9999 * phi + 0.0001 / phi.shape[1]
    seen, hidden = halves
    log, n = 0.0, 0.0
    for d in range(seen.shape[0]):
        row, other = (half.getrow(d) for half in (seen, hidden))
        if not other.nnz:
            continue
        part = phi[:, row.indices]
        theta = np.full(len(phi), 1.0 / len(phi))
        for _ in range(iterations if row.nnz else 0):
            share = part * theta[:, None]
            theta = (share / share.sum(axis=0)) @ row.data + prior
            theta /= theta.sum()
        log += np.log(theta @ phi[:, other.indices]) @ other.data
        n += other.data.sum()
    return float(np.exp(-log / n))


def coherence(weights, counts, top=10):
    """Mean NPMI of the pairs of every topic's `top` heaviest words; −1 for two that never meet."""
    has = (counts > 0).astype(np.float64).tocsc()
    n, scores = has.shape[0], []
    for k in range(weights.shape[1]):
        best = np.argsort(-weights[:, k], kind="stable")[:top]
        best = best[weights[best, k] > 0]
        both = (has[:, best].T @ has[:, best]).toarray() / n
        for i in range(len(best)):
            for j in range(i):
                p = both[i, j]
                scores.append(np.log(p / (both[i, i] * both[j, j])) / -np.log(p) if p > 0 else -1.0)
    return float(np.mean(scores))


def per_sweep(corpus, method, sweeps=5, **settings):
    """Seconds of a sweep, without what comes before the first and after the last."""
    times = corpus.fit(method, sweeps=sweeps, tolerance=0, **settings)["times"]
    return float(re.search(r"([\d.]+) s per sweep", times[0]).group(1))


# --- cases ------------------------------------------------------------------------------------


def nmf(folder, topics=50):
    """NMF until it is as good as scikit-learn's after 10, 20 and 50 iterations, and as gensim's after a pass.

    The objective has many minima, a thousandth apart, and the start decides which is found. So liken runs with
    several seeds, and what each comes to is said."""
    corpus = Corpus(newsgroups(folder), folder)
    matrix, _, _ = corpus.matrix()
    theirs = []

    def sklearn(init, iterations):
        model = NMF(topics, init=init, solver="cd", max_iter=iterations, tol=0, random_state=0)
        seconds, processor, documents = worked(lambda: model.fit_transform(matrix))
        name = f"{SKLEARN}, NMF, {init}, {iterations} iterations"
        theirs.append((name, seconds, processor, loss(matrix, documents, model.components_.T)))

    def gensims(passes):
        documents = bags(matrix)
        words = dict(enumerate(map(str, range(matrix.shape[1]))))
        seconds, processor, model = worked(lambda: Nmf(documents, topics, id2word=words, passes=passes, random_state=0))
        weights = model.get_topics(normalize=False).T.astype(np.float32)
        # Its weights of the documents are an approximation of their own: the best ones are counted instead.
        best, _, _ = non_negative_factorization(
            matrix, H=np.ascontiguousarray(weights.T), update_H=False, n_components=topics, max_iter=50, random_state=0
        )
        theirs.append((f"{GENSIM}, Nmf, passes: {passes}", seconds, processor, loss(matrix, best, weights)))

    say(f"NMF of tf-idf, {matrix.shape[0]:,} × {matrix.shape[1]:,} with {matrix.nnz:,} non-zeros, {topics} topics; "
        f"‖D‖² is {matrix.multiply(matrix).sum():.1f}.\n")
    # In turns: a load that comes and goes meets both sides.
    objectives = {}
    most = 80
    for seed, peer in zip((1, 2, 3, 4, 5), (("nndsvda", 10), ("nndsvda", 20), ("nndsvda", 50), ("random", 50), None)):
        sklearn(*peer) if peer else gensims(1)
        fit = corpus.fit("nmf", dim=topics, sweeps=most, tolerance=0, seed=seed)
        objectives[seed] = [step[fit["report"]["figures"].index("objective")] for step in fit["report"]["steps"]]
        keep("nmf", seed=seed, seconds=fit["seconds"], processor=fit["processor"], objective=objectives[seed])
    say("| peer | seconds | processor | ‖D − UV‖² | liken reaches that with seeds | of these in the middle: sweeps | seconds | processor | peer / liken | by processor |")
    say("|---|---|---|---|---|---|---|---|---|---|")
    for name, seconds, processor, goal in theirs:
        reached = {
            seed: next((n for n, value in enumerate(values, 1) if value <= goal), None) for seed, values in objectives.items()
        }
        reached = sorted((n, seed) for seed, n in reached.items() if n)
        row = f"| {name} | {show(seconds)} | {show(processor)} | {goal:.1f} |"
        if not reached:
            say(f"{row} none of {len(objectives)} in {most} sweeps | | | | | |")
            keep("nmf", peer=name, seconds=seconds, processor=processor, loss=goal, reached=0)
            continue
        sweeps, seed = reached[(len(reached) - 1) // 2]
        fits = [corpus.fit("nmf", output=True, dim=topics, sweeps=sweeps, tolerance=0, seed=seed) for _ in range(2)]
        found = loss(matrix, fits[0]["documents"], fits[0]["weights"])
        # Documents are folded in once more after the last sweep, so their weights are a little better.
        said = objectives[seed][sweeps - 1]
        if not 0.99 * said < found < 1.0001 * said:
            sys.exit(f"liken says {said:.2f} after {sweeps} sweeps, and its factors come to {found:.2f}")
        ours, work = min(fit["seconds"] for fit in fits), min(fit["processor"] for fit in fits)
        say(f"{row} {len(reached)} of {len(objectives)} | {sweeps} | {show(ours)} | {show(work)} | {seconds / ours:.1f} | {processor / work:.1f} |")
        keep("nmf", peer=name, seconds=seconds, processor=processor, loss=goal, reached=len(reached), sweeps=sweeps,
             liken=ours, work=work, found=found)
    say()
    corpus.close()


def lsi(folder, dim=200):
    """LSI with as little work as holds as much of the matrix's energy as the peer's."""
    corpus = Corpus(newsgroups(folder), folder)
    matrix, _, _ = corpus.matrix()
    model = TruncatedSVD(dim, algorithm="randomized", random_state=0)
    seconds, processor, _ = worked(lambda: model.fit(matrix))
    theirs = [(f"{SKLEARN}, TruncatedSVD", seconds, processor, energy(matrix, model.components_.T))]
    documents = bags(matrix)
    words = dict(enumerate(map(str, range(matrix.shape[1]))))
    seconds, processor, model = worked(lambda: LsiModel(documents, num_topics=dim, id2word=words, random_seed=0))
    theirs.append((f"{GENSIM}, LsiModel", seconds, processor, energy(matrix, model.projection.u)))
    say(f"LSI of tf-idf, d = {dim}: the share of ‖D‖² that the subspace holds.\n")
    say("| peer | seconds | processor | share | liken | seconds | processor | share | peer / liken | by processor |")
    say("|---|---|---|---|---|---|---|---|---|---|")
    whole = matrix.multiply(matrix).sum()
    ours = []
    steps = [{"iterations": 2, "tolerance": 0.5}] + [{"tolerance": t} for t in (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 1e-3)]
    for settings in steps:
        fits = [corpus.fit("lsi", output=True, dim=dim, **settings) for _ in range(2)]
        best = [min(fit[name] for fit in fits) for name in ("seconds", "processor")]
        named = ", ".join(f"{key} {value}" for key, value in settings.items())
        ours.append((named, *best, energy(matrix, fits[0]["weights"])))
        keep("lsi", settings=named, seconds=best[0], processor=best[1], share=ours[-1][-1] / whole)
        if all(ours[-1][-1] >= peer[-1] for peer in theirs):
            break
    default = corpus.fit("lsi", output=True, dim=dim)
    for name, seconds, processor, goal in theirs:
        enough = [fit for fit in ours if fit[-1] >= goal]
        settings, fastest, work, held = enough[0] if enough else ours[-1]
        ratio = f"{seconds / fastest:.1f} | {processor / work:.1f}" if enough else "not reached |"
        say(f"| {name} | {show(seconds)} | {show(processor)} | {goal / whole:.4f} | {settings} | {show(fastest)} | "
            f"{show(work)} | {held / whole:.4f} | {ratio} |")
        keep("lsi", peer=name, seconds=seconds, processor=processor, share=goal / whole, liken=fastest, work=work,
             held=held / whole)
    held = energy(matrix, default["weights"]) / whole
    say(f"\nWith liken's default tolerance of 0.001 (its residuals are then a promise): {show(default['seconds'])}, share {held:.4f}.\n")
    corpus.close()


def lda(folder, topics=50):
    """LDA until the perplexity of held-out words is as low as the peer's."""
    corpus = Corpus(newsgroups(folder), folder)
    _, counts, words = corpus.matrix()
    test = halves(held_out(folder, words)[::5])
    documents = bags(counts)
    names = dict(enumerate(words))
    sklearn = dict(n_components=topics, random_state=0, n_jobs=int(THREADS))
    peers = {
        f"{SKLEARN}, batch, 10 iterations": lambda: LatentDirichletAllocation(learning_method="batch", max_iter=10, **sklearn).fit(counts).components_.T,
        f"{SKLEARN}, online, 10 passes": lambda: LatentDirichletAllocation(learning_method="online", max_iter=10, **sklearn).fit(counts).components_.T,
        f"{GENSIM}, LdaModel, 5 passes": lambda: LdaModel(documents, topics, id2word=names, passes=5, random_state=0).get_topics().T,
        f"{GENSIM}, LdaMulticore, 5 passes": lambda: LdaMulticore(documents, topics, id2word=names, passes=5, workers=int(THREADS), random_state=0).get_topics().T,
    }
    ours = []
    for batch in 0, 1024:
        for iterations in 1, 2, 3, 5, 7, 10, 15, 20:
            fit = corpus.fit("lda", output=True, dim=topics, iterations=iterations, batch=batch, tolerance=0)
            name = f"{iterations}, " + (f"batches of {batch}" if batch else "all at once")
            ours.append((name, fit["seconds"], perplexity(fit["weights"], test), coherence(fit["weights"], counts)))
            keep("lda", liken=name, seconds=ours[-1][1], perplexity=ours[-1][2], npmi=ours[-1][3])
    ours.sort(key=lambda fit: fit[1])
    say(f"LDA of counts, {topics} topics: perplexity of half of the words of {test[0].shape[0]:,} test documents (every fifth), the other half seen; NPMI of ten words.\n")
    say("| peer | seconds | perplexity | NPMI | liken, iterations | seconds | perplexity | NPMI | peer / liken |")
    say("|---|---|---|---|---|---|---|---|---|")
    for name, function in peers.items():
        seconds, weights = timed(function)
        goal, npmi = perplexity(weights, test), coherence(weights, counts)
        enough = [fit for fit in ours if fit[2] <= goal]
        how, fastest, found, own = enough[0] if enough else ours[-1]
        ratio = f"{seconds / fastest:.1f}" if enough else "not reached"
        say(f"| {name} | {show(seconds)} | {goal:.0f} | {npmi:.3f} | {how} | {show(fastest)} | {found:.0f} | {own:.3f} | {ratio} |")
        keep("lda", peer=name, seconds=seconds, perplexity=goal, npmi=npmi, liken=fastest, found=found, own=own)
    say()
    corpus.close()


def grouped(total, classes=20, share=0.2):
    """Shared topics and topics of every class that come to `total`, about a fifth of them shared."""
    own = max(1, round(total * (1 - share) / classes))
    return {"shared": total - own * classes, "own": own}


PAIRS = {"rlsi": "grlsi", "nmf": "gnmf"}


def sweeps(folder, topics=500):
    """A sweep over all topics at once against one by class, at the same number of topics."""
    corpus = Corpus(newsgroups(folder), folder)
    say("| newsgroups, a sweep | topics | seconds | with 20 classes | topics | seconds | times as fast |")
    say("|---|---|---|---|---|---|---|")
    for plain, group in PAIRS.items():
        parts = grouped(topics)
        one, other = per_sweep(corpus, plain, dim=topics), per_sweep(corpus, group, **group_settings(parts))
        say(f"| {plain} | {topics} | {show(one)} | {group} | {parts['shared']} + 20 × {parts['own']} | {show(other)} | {one / other:.1f} |")
        keep("sweeps", plain=plain, topics=topics, seconds=one, grouped=other)
    say()
    corpus.close()


def group_settings(parts):
    """How liken's parameters are called."""
    return {"dim": parts["shared"], "class_dim": parts["own"]}


def growth(folder):
    """The talk's figures 2 to 5: a sweep as topics and documents grow, by class or not, as plots."""
    corpus = Corpus(newsgroups(folder), folder)
    by_topics, by_documents = {}, {}
    for plain, group in PAIRS.items():
        for topics in 50, 100, 200, 400:
            by_topics.setdefault(plain, []).append((topics, per_sweep(corpus, plain, 3, dim=topics)))
            by_topics.setdefault(group, []).append((topics, per_sweep(corpus, group, 3, **group_settings(grouped(topics)))))
    corpus.close()
    for documents in 10_000, 20_000, 40_000, 80_000:
        path = folder / f"corpus-{documents}"
        liken("synth", "topics", "-o", path, "--force", "--documents", documents, "--terms", 50_000, "--topics", 200)
        corpus = Corpus(path, folder)
        for plain, group in PAIRS.items():
            by_documents.setdefault(plain, []).append((documents, per_sweep(corpus, plain, 3, dim=200)))
            settings = group_settings(grouped(200))
            by_documents.setdefault(group, []).append((documents, per_sweep(corpus, group, 3, **settings)))
        corpus.close()
    say("| a sweep grows with | from | to | times as much | " + " | ".join(f"times as long: {name}" for name in by_topics) + " |")
    say("|" + "---|" * (4 + len(by_topics)))
    for label, found in ("topics (newsgroups)", by_topics), ("documents (planted topics)", by_documents):
        first, last = found["rlsi"][0][0], found["rlsi"][-1][0]
        times = " | ".join(f"{points[-1][1] / points[0][1]:.1f}" for points in found.values())
        say(f"| {label} | {first:,} | {last:,} | {last / first:.0f} | {times} |")
        keep("growth", label=label, **found)
    for plain, group in PAIRS.items():
        text = ""
        for label, found in ("topics (newsgroups)", by_topics), ("documents (planted topics, 200)", by_documents):
            text += f"panel {plain} and {group} by {label} | {label} | seconds of a sweep\n"
            for name in plain, group:
                text += f"series {name}\n" + "".join(f"{a} {b}\n" for a, b in found[name])
        svg = subprocess.run([program().with_name("plot")], input=text, capture_output=True, text=True)
        if svg.returncode:
            sys.exit(svg.stdout)
        (DOCS / "plots").mkdir(exist_ok=True)
        (DOCS / "plots" / f"topics-{plain}.svg").write_text(svg.stdout)
        say(f"\n![Time of a sweep of {plain} and {group} by topics and documents](plots/topics-{plain}.svg)")
    say()


def million(folder, documents=1_000_000, terms=500_000, topics=500):
    """RLSI with 500 topics on a million documents of 500,000 words: time and peak of memory."""
    path, model = folder / "million", folder / "million-model"
    seconds, _ = timed(lambda: liken("synth", "topics", "-o", path, "--documents", documents, "--terms", terms,
                                     "--topics", topics, "--length", 100, "--classes", 20))
    say(f"`liken synth topics` of {documents:,} documents and {terms:,} words: {show(seconds)}.")
    command = [binary(), "train", "rlsi", path, "-o", model, "--dim", str(topics), "--set", "sweeps=2",
               "--language", "none", "--max-memory", "12GiB", "--format", "json"]
    start = time.perf_counter()
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        sys.exit(f"liken train rlsi: exit code {os.waitstatus_to_exitcode(status)}")
    report = json.loads(output)["reports"][0]
    peak = usage.ru_maxrss / 2**20
    say(f"`liken train rlsi --dim {topics}`, two sweeps: {seconds:.0f} s for the whole command, peak of memory {peak:.1f} GiB "
        f"(file pages included); {', '.join(report['figures'])} by sweep: {report['steps']}.\n")
    keep("million", seconds=seconds, peak=peak, report=report)
    if peak > 12:
        sys.exit(f"{peak:.1f} GiB are more than 12")


# Without stop words, as the talk's; whole words are easier to read than stems.
WHOLE = ["--set", "preparation.analyzer.stem=false"]


def tables(folder):
    """Topics as in the talk's tables 8 (ap) and 10 (newsgroups with its classes)."""
    source = DATA / "ap"
    ap, news = folder / "ap", newsgroups(folder)
    liken("import", "--documents", source / "ap.dat", "--vocabulary", source / "vocab.txt", "-o", ap)
    # Empty topics have no words and no NPMI, so both means look better for them: they are shown beside.
    say("| RLSI on ap, 20 topics: λ₁ | AvgComp | topics without a word | mean NPMI of the others | share of the largest topic |")
    say("|---|---|---|---|---|")
    for lambda1 in 0.1, 0.25, 0.5, 0.75, 1.0, 1.5:
        model = folder / "ap-lambda"
        liken("train", "rlsi", ap, "-o", model, "--force", *WHOLE, "--dim", 20, "--set", f"lambda1={lambda1}")
        text = liken("topics", model, "--format", "markdown")
        found = re.search(r"AvgComp ([\d.]+), mean NPMI ([-\d.]+)(?:, (\d+) topic)?", text)
        shares = [float(share) for share in re.findall(r"^\| \d+ +\| +([\d.]+) %", text, re.M)]
        say(f"| {lambda1} | {found[1]} | {found[3] or 0} | {found[2]} | {max(shares):.1f} % |")
        keep("tables", lambda1=lambda1, avgcomp=found[1], npmi=found[2], empty=found[3] or 0, largest=max(shares))
    say()
    groups = ["--dim", 10, "--set", "class_dim=3"]
    for dataset, method, flags in (
        (ap, "rlsi", ["--dim", 20]), (ap, "lda", ["--dim", 20]), (ap, "plsi", ["--dim", 20]), (ap, "lsi", ["--dim", 20]), (news, "grlsi", groups), (news, "gnmf", groups),
    ):
        model = folder / f"{dataset.name}-{method}"
        liken("train", method, dataset, "-o", model, *WHOLE, *flags)
        say(f"**{method} on {dataset.name}** ({' '.join(map(str, flags))})\n")
        say(liken("topics", model, "--format", "markdown"))


# --- the page ---------------------------------------------------------------------------------

CASES = [nmf, lsi, lda, sweeps, growth, million, tables]


def main():
    args = sys.argv[1:]
    wanted = args or [case.__name__ for case in CASES]
    unknown = set(wanted) - {case.__name__ for case in CASES}
    if unknown:
        sys.exit(f"no such case: {', '.join(sorted(unknown))}; there are {', '.join(c.__name__ for c in CASES)}")
    say(f"Measured on {machine()}, {THREADS} threads; load at the start {os.getloadavg()[0]:.1f}.\n")
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            if case.__name__ in wanted:
                case(Path(folder))
                kept = program().parent.parent.parent / "bench-topics.json"
                kept.write_text(json.dumps({"machine": machine(), "figures": KEPT}, indent=1, default=float))
    page = DOCS / "BENCHMARKS.md"
    text = page.read_text()
    if not args and BEGIN in text:
        head, rest = text.split(BEGIN)
        page.write_text(head + BEGIN + "\n" + "\n".join(LINES) + "\n" + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
