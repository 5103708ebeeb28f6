"""RMLS and PLS beside what a user would pick instead, on logs of the papers' shapes.

Everything is timed in turns on the same matrices: liken on one thread and on two, scipy and
scikit-learn with both cores for their BLAS (sparse products of scipy use one). A pass of RMLS is a
sweep: C·L_y, rows scaled, Cᵀ·L_x, rows scaled. The figures go into docs/BENCHMARKS.md between two
marks, the plots of growth into docs/plots/; a wrong number ends the run with exit code 1, no time does.

Usage: make bench-bilinear, or .venv/bin/python bench/bilinear.py [case ...] [--half-year FOLDER]
  cases: sweeps pls growth memory; --half-year trains at full size (an hour, 30 GB of disk)
"""

import numpy as np  # before kernels, which asks BLAS for one thread: the peers here may have all


import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from scipy.sparse.linalg import LinearOperator, svds
from sklearn.utils.extmath import randomized_svd

from kernels import SCIPY, SKLEARN, Liken, Peer, csr, load_file, program, save, show

DOCS = Path(__file__).parent.parent / "docs"
BEGIN, END = "<!-- bilinear: begin -->", "<!-- bilinear: end -->"
LINES = []


def say(line=""):
    print(line, flush=True)
    LINES.append(line)


def week(folder, scale=1.0, words=1.0):
    """X, R and Y of a log of the one-week shape, `scale` times as large, with `words` times the words."""
    path = folder / f"week-{scale}-{words}.safetensors"
    if not path.exists():
        subprocess.run([program(), "one-week", path, str(scale), str(words)], check=True)
    flat = load_file(path)
    return [csr(flat, name) for name in ("x", "r", "y")]


def peak(process):
    """The most memory a process has had, in GiB."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) / 2**20


def scaled(rows):
    """Rows of norm one, in place; zeros stay."""
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    rows /= np.where(norms > 0, norms, 1)[:, None].astype(np.float32)
    return rows


def sweep_source(folder, matrices, dim, share=0.0):
    x, r, y = matrices
    wanted = {"dim": np.array([dim], np.uint64), "share": np.array([share])}
    return save(folder, f"sweeps-{dim}-{share}-{x.shape[0]}-{x.nnz}", x=x, r=r, y=y, **wanted)


def copying(folder):
    """Bytes a second that copying moves, on one thread and on two."""
    v = np.zeros(32 << 20, np.float32)
    runners = [Liken("copy", save(folder, "copying", v=v), threads) for threads in (1, 2)]
    best = [min(runner.seconds() for _ in range(5)) for runner in runners]
    for runner in runners:
        runner.result()
    return [2 * v.nbytes / seconds for seconds in best]


# --- cases ------------------------------------------------------------------------------------


def sweeps(folder):
    """A sweep of RMLS against the papers' Algorithms 1 + 2, and against scipy through the factors."""
    x, r, y = week(folder)
    x_t, r_t, y_t = x.T.tocsr(), r.T.tocsr(), y.T.tocsr()
    c = x_t @ r @ y
    c_t = c.T.tocsr()
    copied = copying(folder)
    say(f"One-week shape: {x.shape[0]:,} queries, {y.shape[0]:,} documents, {x.shape[1]:,} × {y.shape[1]:,} features; "
        f"{x.nnz + r.nnz + y.nnz:,} non-zeros in the factors, {c.nnz:,} in C.\n")
    say("| a sweep of RMLS | liken, 1 thread | liken, 2 threads | peer | peer / liken 1 | peer / liken 2 | peer is |")
    say("|---|---|---|---|---|---|---|")
    for dim in 200, 1000:
        random = np.random.default_rng(0)
        start = scaled(random.standard_normal((y.shape[1], dim), dtype=np.float32))

        def explicit():
            return scaled(c_t @ scaled(c @ start))

        def factors():
            l_x = scaled(x_t @ (r @ (y @ start)))
            return scaled(y_t @ (r_t @ (x @ l_x)))

        source = sweep_source(folder, (x, r, y), dim)
        liken = [Liken("sweeps", source, threads) for threads in (1, 2)]
        peers = [Peer(explicit), Peer(factors)]
        best = [float("inf")] * 4
        for _ in range(3 if dim == 200 else 2):
            best = [min(b, runner.seconds()) for b, runner in zip(best, liken + peers)]
        found = [runner.result() for runner in liken]
        for name in found[0]:
            if not np.array_equal(found[0][name], found[1][name]):
                sys.exit(f"one thread and two give another {name}")
        if dim == 200:
            # The last half-sweep is L_y = rows of CᵀL_x scaled to norm one.
            apart = np.abs(scaled(c_t @ found[0]["l_x"]) - found[0]["l_y"]).max()
            if apart > 1e-3:
                sys.exit(f"liken's half-sweep is {apart:.1e} from scipy's")
        apart = np.abs(peers[0].last - peers[1].last).max()
        if apart > 1e-3:
            sys.exit(f"scipy's two ways are {apart:.1e} apart")
        for name, seconds in (f"{SCIPY}, C formed (Algorithms 1 + 2)", best[2]), (f"{SCIPY}, three factors", best[3]):
            say(f"| d = {dim} | {show(best[0])} | {show(best[1])} | {show(seconds)} | "
                f"{seconds / best[0]:.1f} | {seconds / best[1]:.1f} | {name} |")
        gathered = 2 * 4 * dim * (x.nnz + r.nnz + y.nnz)
        streamed = 4 * dim * 2 * (2 * x.shape[0] + 2 * y.shape[0] + x.shape[1] + y.shape[1])
        total = gathered + streamed
        NOTES.append(f"d = {dim}: {total / 1e9:.1f} GB gathered and streamed a sweep, {total / best[1] / 1e9:.0f} GB/s on two threads and {total / best[0] / 1e9:.0f} on one (copying gives {copied[1] / 1e9:.0f} and {copied[0] / 1e9:.0f})")
    say()


def pls(folder):
    """PLS against scikit-learn's randomized_svd on C formed beforehand, and ARPACK on the factors."""
    x, r, y = week(folder)
    x_t, r_t, y_t = x.T.tocsr(), r.T.tocsr(), y.T.tocsr()
    c = x_t @ r @ y
    operator = LinearOperator(
        c.shape, dtype=np.float32,
        matvec=lambda v: x_t @ (r @ (y @ v)), rmatvec=lambda u: y_t @ (r_t @ (x @ u)),
        matmat=lambda v: x_t @ (r @ (y @ v)), rmatmat=lambda u: y_t @ (r_t @ (x @ u)),
    )

    def residual(u, sigma, v):
        """The largest max(‖Cv − σu‖, ‖Cᵀu − σv‖)/σ₁."""
        sides = (operator.matmat(v) - u * sigma, operator.rmatmat(u) - v * sigma)
        return max(np.linalg.norm(side, axis=0).max() for side in sides) / sigma.max()

    say("| singular triplets of C | liken, 2 threads | residual | peer | residual | peer / liken | peer is |")
    say("|---|---|---|---|---|---|---|")
    cases = [
        (100, f"{SCIPY}, ARPACK on the three factors", lambda: svds(operator, k=100, tol=0.1, rng=np.random.default_rng(0))),
        (300, f"{SKLEARN}, randomized_svd on C", lambda: randomized_svd(c, 300, random_state=0)),
        (1000, None, None),
    ]
    for dim, name, function in cases:
        seconds, theirs, tolerance = None, None, 1e-3
        if function:
            peer = Peer(function)
            seconds = peer.seconds()
            u, sigma, v_t = peer.last
            theirs = residual(u, sigma, v_t.T)
            tolerance = max(theirs, 1e-3)
        wanted = {"dim": np.array([dim], np.uint64), "tolerance": np.array([tolerance], np.float64)}
        source = save(folder, f"svd-{dim}", x=x, r=r, y=y, **wanted)
        liken = Liken("svd", source, 2)
        ours = liken.seconds()
        memory = peak(liken.process)
        found = liken.result()
        mine = residual(found["u"], found["sigma"], found["v"])
        if mine > 1.02 * tolerance:
            sys.exit(f"d = {dim}: residual {mine:.1e}, asked for {tolerance:.1e}")
        row = [f"d = {dim}", show(ours), f"{mine:.1e}"]
        row += [show(seconds), f"{theirs:.1e}", f"{seconds / ours:.1f}", name] if function else ["", "", "", ""]
        say("| " + " | ".join(row) + " |")
        NOTES.append(f"d = {dim}: {found['iterations'][0]} iterations, peak of memory {memory:.1f} GiB")
    say()


def growth(folder):
    """How the time of a sweep grows with queries, dimensions and non-zeros; plots beside a straight line."""
    plots = {"queries": [], "dimensions": [], "non-zeros": []}

    def seconds(matrices, dim):
        liken = Liken("sweeps", sweep_source(folder, matrices, dim), 2)
        best = min(liken.seconds() for _ in range(2))
        liken.result()
        return best

    for scale in 0.125, 0.25, 0.5, 1.0, 2.0:
        matrices = week(folder, scale)
        plots["queries"].append((matrices[0].shape[0], seconds(matrices, 200)))
    for dim in 64, 128, 256, 512, 1024:
        plots["dimensions"].append((dim, seconds(week(folder), dim)))
    for words in 1.0, 2.0, 3.0, 4.0:
        matrices = week(folder, 1.0, words)
        plots["non-zeros"].append((sum(m.nnz for m in matrices), seconds(matrices, 200)))
    labels = {"queries": "training queries", "dimensions": "latent dimensions", "non-zeros": "non-zeros of X, R and Y"}
    text = ""
    say("| a sweep on two threads grows with | from | to | times as much | times as long |")
    say("|---|---|---|---|---|")
    for name, points in plots.items():
        (x0, y0), (x1, y1) = points[0], points[-1]
        say(f"| {labels[name]} | {x0:,} | {x1:,} | {x1 / x0:.1f} | {y1 / y0:.1f} |")
        text += f"panel {labels[name]} | {labels[name]} | seconds of a sweep\n"
        text += "series liken, 2 threads\n" + "".join(f"{a} {b}\n" for a, b in points)
        text += "series in proportion\n" + f"{x0} {y0}\n{x1} {y0 * x1 / x0}\n"
    svg = subprocess.run([program().with_name("plot")], input=text, capture_output=True, text=True)
    if svg.returncode:
        sys.exit(svg.stdout)
    (DOCS / "plots").mkdir(exist_ok=True)
    (DOCS / "plots" / "growth.svg").write_text(svg.stdout)
    say("\n![Time of a sweep by queries, dimensions and non-zeros](plots/growth.svg)\n")


def memory(folder):
    """Ten sweeps by `liken train`: seconds, and the peak beside the plan that was printed before."""
    binary = program().parent.parent / "liken"
    dataset = folder / "week"
    subprocess.run([binary, "synth", "one-week", "-o", dataset, "--force"], check=True, capture_output=True)
    say("| liken train, one week, 2 threads | whole command | plan | peak of memory | peak / plan |")
    say("|---|---|---|---|---|")
    random = ["--set", "start=random", "--set", "sweeps=10", "--set", "patience=20"]
    cases = [
        ("rmls, d = 1000, ten sweeps from the random start", "rmls", 1000, random),
        ("rmls, d = 1000, the same with a relative penalty of 0.45", "rmls", 1000,
         random + ["--set", "penalty=relative", "--set", "rho_x=0.45", "--set", "rho_y=0.45"]),
        ("rmls, d = 300, a spectral start", "rmls", 300, ["--set", "start=spectral", "--set", "sweeps=1"]),
        ("pls, d = 300", "pls", 300, []),
    ]
    for title, method, dim, settings in cases:
        seconds, top, planned = train(binary, method, dataset, folder / "model", dim, settings)
        say(f"| {title} | {show(seconds)} | {planned:.2f} GiB | {top:.2f} GiB | {top / planned:.2f} |")
    say()


def train(binary, method, dataset, model, dim, settings, log=None):
    """Runs `liken train` and watches it: seconds, peak less file pages (GiB), plan (GiB)."""
    command = [binary, "train", method, dataset, "-o", model, "--force", "--dim", str(dim), *settings]
    start = time.perf_counter()
    with open(model.with_suffix(".log"), "w+") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out)
        top = 0
        while process.poll() is None:
            try:
                status = Path(f"/proc/{process.pid}/status").read_text()
                found = re.search(r"RssAnon:\s+(\d+)", status)
                top = max(top, int(found.group(1)) if found else 0)
            except (OSError, ValueError):
                pass
            time.sleep(0.05)
        seconds = time.perf_counter() - start
        out.seek(0)
        text = out.read()
    if process.returncode:
        sys.exit(text)
    if log:
        log.write_text(text)
    planned = re.search(rf"{method}: ([\d.]+) (\w+) of memory", text)
    unit = {"MiB": 2**-10, "GiB": 1, "KiB": 2**-20}
    return seconds, top / 2**20, float(planned.group(1)) * unit[planned.group(2)] if planned else float("nan")


def half_year(folder):
    """The papers' half year at full size: a penalty that leaves about a tenth of the entries."""
    binary = program().parent.parent / "liken"
    dataset = folder / "half-year"
    if not dataset.exists():
        subprocess.run([binary, "synth", "half-year", "-o", dataset], check=True)
    settings = ["--set", "start=random", "--set", "sweeps=10", "--set", "patience=20", "--set", "penalty=relative",
                "--set", "rho_x=0.45", "--set", "rho_y=0.45", "--set", "features.query_clicks=1",
                "--max-memory", "20GiB"]
    log = folder / "half-year.txt"
    seconds, top, planned = train(binary, "rmls", dataset, folder / "half-year-model", 1000, settings, log)
    text = f"liken train rmls, half-year shape at full size, d = 1000, ten sweeps: {seconds:.0f} s for the whole command, " \
           f"peak {top:.1f} GiB, plan {planned:.1f} GiB (the papers: 20,523 s for training alone on 20 threads)\n\n"
    print(text + log.read_text())


# --- the page ---------------------------------------------------------------------------------

NOTES = []
CASES = [sweeps, pls, growth, memory]


def machine():
    name = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
    return f"{name.group(1) if name else platform.machine()}, {os.cpu_count()} cores"


def main():
    args = sys.argv[1:]
    if "--half-year" in args:
        at = args.index("--half-year")
        half_year(Path(args[at + 1]))
        return
    wanted = args or [case.__name__ for case in CASES]
    unknown = set(wanted) - {case.__name__ for case in CASES}
    if unknown:
        sys.exit(f"no such case: {', '.join(sorted(unknown))}; there are {', '.join(c.__name__ for c in CASES)}")
    say(f"Measured on {machine()}; load at the start {os.getloadavg()[0]:.1f}, Python {platform.python_version()}.\n")
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            if case.__name__ in wanted:
                case(Path(folder))
    for note in NOTES:
        say(f"- {note}")
    page = DOCS / "BENCHMARKS.md"
    text = page.read_text()
    if not args and BEGIN in text:
        head, rest = text.split(BEGIN)
        page.write_text(head + BEGIN + "\n" + "\n".join(LINES) + "\n" + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
