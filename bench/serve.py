"""The search service under load, beside tantivy alone and beside a brute-force search with numpy.

Three collections: nfcorpus (4 k documents), citeulike-t (26 k) and a synthetic one of a million (bench/million.py),
BM25, PLS with 300 dimensions and association on each. `crates/server/examples/load` asks the service over 1, 8
and 64 connections, each with one request at a time: BM25 alone, the latent model alone, both, association. It runs on the same
processors, so what it took of them is printed, too. Beside it, tantivy answers the same queries inside a process of
its own (`crates/server/examples/tantivy_alone.rs`), and numpy multiplies the embeddings of all documents with that of a
query; the best ten of numpy are what the recall of the latent part is measured with. The last case swaps a model
back and forth during load over 64 connections.

Datasets, models and indexes are kept in bench-serve in cargo's target folder. The figures go into
docs/BENCHMARKS.md between two marks, everything into bench-serve.json in the target folder; a failed request, a
mixed answer, a wrong score or too small a recall ends the run with exit code 1, no time does.

Usage: make bench-serve, or .venv/bin/python bench/serve.py [case ...]
  cases: nfcorpus citeulike-t million swap; BENCH_SECONDS (10) is how long each load goes on
"""

import os

THREADS = os.environ.get("BENCH_THREADS", "2")
for variable in ("OMP", "OPENBLAS", "MKL", "RAYON"):
    os.environ[f"{variable}_NUM_THREADS"] = THREADS

import json
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np

import million
from bilinear import DOCS, machine
from kernels import NUMPY, program

BEGIN, END = "<!-- serve: begin -->", "<!-- serve: end -->"
DATA = Path(os.environ.get("LIKEN_DATA", "../shared/data"))
SECONDS = float(os.environ.get("BENCH_SECONDS", "10"))
CONNECTIONS = (1, 8, 64)
DIM, K, DEPTH = 300, 10, 200
# Queries that load is made of, and those that recall is measured with.
MOST_QUERIES, MEASURED = 10_000, 500
RECALL = 0.95
MODES = {"BM25": ["bm25"], "latent": ["pls"], "hybrid": ["bm25", "pls"], "association": ["association"]}
MODELS = {"bm25": [], "pls": ["--dim", DIM], "association": []}
LINES, KEPT, WRONG = [], {}, []


def say(line=""):
    print(line, flush=True)
    LINES.append(line)


def note(line):
    """Says what goes on; not for the page."""
    print(line, file=sys.stderr, flush=True)


def wrong(what):
    """Keeps something that must not be; the run goes on and fails at its end."""
    say(f"**{what}**\n")
    WRONG.append(what)


def keep(case, **figures):
    """Keeps figures for bench-serve.json."""
    KEPT.setdefault(case, []).append(figures)


# --- collections ------------------------------------------------------------------------------


def target():
    return program().parents[2]


def liken():
    return target() / "release" / "liken"


def run(*words):
    """A command of liken; its seconds and the most memory it had, in GiB."""
    words = [str(word) for word in words]
    note(f"liken {' '.join(words)}")
    start = time.perf_counter()
    process = subprocess.Popen([liken(), *words], stdout=sys.stderr)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"liken {' '.join(words)}: exit code {process.returncode}")
    return time.perf_counter() - start, usage.ru_maxrss / 2**20


def import_nfcorpus(folder):
    run("import", "beir", DATA / "nfcorpus", "-o", folder / "data")
    lines = (DATA / "nfcorpus" / "queries.jsonl").read_text().splitlines()
    return [json.loads(line)["text"] for line in lines]


def import_citeulike(folder):
    source = DATA / "citeulike-t"
    run("import", "--documents", source / "mult.dat", "--vocabulary", source / "vocabulary.dat",
        "--queries", source / "tags.dat", "--links", source / "tag-item.dat",
        "--input-format", "documents:ldac", "--input-format", "queries:lines", "--input-format", "links:ldac",
        "--split", "edges", "--validation", "0.02", "--test", "0.1", "-o", folder / "data")
    return (source / "tags.dat").read_text().splitlines()


def import_million(folder):
    raw = folder / "raw"
    if not (raw / "about.json").exists():
        note("writing a million documents")
        million.write(raw)
    run("import", "--clicks", raw / "clicks.tsv", "--documents", raw / "documents.jsonl", "-o", folder / "data")
    return (raw / "queries.txt").read_text().splitlines()


IMPORTS = {"nfcorpus": import_nfcorpus, "citeulike-t": import_citeulike, "million": import_million}


class Collection:
    """A dataset with its models and queries; what is missing of them is made."""

    def __init__(self, name):
        self.name, self.folder = name, target() / "bench-serve" / name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.queries_file = self.folder / "queries.txt"
        if not (self.folder / "data").exists() or not self.queries_file.exists():
            if (self.folder / "data").exists():
                sys.exit(f"{self.folder}: a dataset without queries.txt; remove the folder")
            # Words in quotes would have to stand side by side.
            texts = [" ".join(text.replace('"', " ").split()) for text in IMPORTS[name](self.folder)]
            texts = [text for text in texts if re.search(r"\w\w", text)]
            order = np.random.default_rng(1).permutation(len(texts))[:MOST_QUERIES]
            self.queries_file.write_text("".join(f"{texts[at]}\n" for at in order))
        self.queries = self.queries_file.read_text().splitlines()
        for name, more in MODELS.items():
            self.model(name, name, *more)

    def model(self, name, *words):
        path = self.folder / name
        if not path.exists():
            seconds, memory = run("train", words[0], self.folder / "data", "-o", path, *words[1:])
            note(f"{self.name}, {name}: trained in {seconds:.0f} s, at most {memory:.1f} GiB")
            keep("training", collection=self.name, model=name, seconds=seconds, gib=memory)
        return path

    def index(self):
        """Makes the index anew: it is part of what is measured."""
        path = self.folder / "index"
        models = [word for name in MODELS for word in ("--model", f"{name}={self.folder / name}")]
        seconds, memory = run("index", self.folder / "data", *models, "-o", path, "--force")
        size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) / 2**30
        return path, {"seconds": seconds, "gib": memory, "disk_gib": size}

    def bodies(self, models, **more):
        """A file with one request for each query."""
        file = tempfile.NamedTemporaryFile("w", suffix=".jsonl")
        for query in self.queries:
            print(json.dumps({"query": query, "k": K, "models": models, **more}), file=file)
        file.flush()
        return file


# --- the service ------------------------------------------------------------------------------


class Service:
    """`liken serve` on an index, until the end of a `with`."""

    def __init__(self, index):
        note(f"liken serve {index}")
        self.start = time.perf_counter()
        self.process = subprocess.Popen(
            [liken(), "serve", index, "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.said = []
        for line in self.process.stdout:
            self.said.append(line)
            found = re.search(r"http://[^\s/]+:\d+", line)
            if found:
                self.url = found.group()
                break
        else:
            sys.exit(f"liken serve says no URL: {''.join(self.said)}")
        # What it says later must not fill the pipe.
        threading.Thread(target=lambda: self.said.extend(self.process.stdout), daemon=True).start()
        self.wait()
        self.opened = time.perf_counter() - self.start

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            wrong("the service did not end within 30 seconds of being asked to")

    def wait(self, patience=600):
        end = time.monotonic() + patience
        while time.monotonic() < end:
            if self.process.poll() is not None:
                sys.exit(f"liken serve ended with {self.process.returncode}: {''.join(self.said)}")
            try:
                self.ask("/ready")
                return
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.05)
        sys.exit("liken serve is not ready after ten minutes")

    def ask(self, path, body=None):
        """The answer to GET, or to POST if there is a body; an empty text is none."""
        data = None if body is None else json.dumps(body).encode() if body != "" else b""
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=600) as answer:
            text = answer.read().decode()
            return json.loads(text) if answer.headers.get_content_type().endswith("json") else text

    def memory(self):
        """GiB in memory: all, of its own, of files that the system may drop, and the most there was of all."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        names = {"all": "VmRSS", "own": "RssAnon", "files": "RssFile", "most": "VmHWM"}
        return {key: int(re.search(rf"{name}:\s+(\d+)", status).group(1)) / 2**20 for key, name in names.items()}

    def processor(self):
        """Seconds of processor time that the process has had."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def load(self, bodies, connections, seconds=SECONDS, parse=20, warmup=2):
        before = self.processor()
        command = [program().with_name("load"), f"{self.url}/search", bodies.name, f"connections={connections}",
                   f"seconds={seconds}", f"warmup={warmup}", f"parse={parse}"]
        answer = json.loads(subprocess.check_output(command))
        # The warm-up is part of this, so it is a share of the whole, not of what was counted.
        answer["service_processors"] = (self.processor() - before) / (answer["seconds"] + warmup)
        answer["load_processors"] = answer["processor_seconds"] / answer["seconds"]
        answer["bytes_per_answer"] = answer["bytes"] / max(answer["requests"], 1)
        return answer


def check(label, answer):
    if answer["failures"]:
        wrong(f"{label}: {answer['failures']} failed requests, the first of them: {answer['reasons'][0]}")
    if answer["mixed"] or answer["without_version"]:
        wrong(f"{label}: {answer['mixed']} mixed answers, {answer['without_version']} without versions")
    if not answer["requests"]:
        wrong(f"{label}: no answer at all")


def embeddings(index, version):
    """The embeddings of all documents under a version of the latent model: a header of 16 numbers, then n × d."""
    path = index / "embeddings" / "pls" / version / "images.bin"
    mark, _, n, dim, *_ = np.fromfile(path, "<u8", 16)
    if int(mark).to_bytes(8, "little") != b"likenimg":
        sys.exit(f"{path}: not a file of embeddings")
    return np.fromfile(path, "<f4", offset=128).reshape(int(n), int(dim))


# --- beside the peers -------------------------------------------------------------------------


def tantivy(index, queries):
    """Figures of tantivy alone, by k and threads."""
    seconds = max(2, round(SECONDS / 2))
    command = [program().with_name("tantivy_alone"), index, queries, f"k={K},{DEPTH}", f"seconds={seconds}"]
    lines = subprocess.check_output(command, text=True).splitlines()
    return {(line["k"], line["threads"]): line for line in map(json.loads, lines)}


def in_turns(index, queries):
    """Figures of tantivy and of liken's whole search in one process, by k; nobody may serve the index."""
    command = [program().with_name("tantivy_alone"), index, queries, f"k={K},{DEPTH}", f"seconds={round(SECONDS)}",
               "liken=bm25,association"]
    lines = subprocess.check_output(command, text=True).splitlines()
    return {line["k"]: line for line in map(json.loads, lines)}


def brute_force(documents, queries, most=10.0):
    """numpy's best ten of all documents for every query: scores, and milliseconds one by one and in a batch."""
    best, times, begin = [], [], time.perf_counter()
    for query in queries:
        start = time.perf_counter()
        scores = documents @ query
        top = np.argpartition(scores, len(scores) - K)[-K:]
        top = top[np.argsort(-scores[top])]
        times.append((time.perf_counter() - start) * 1e3)
        best.append(scores[top])
        if time.perf_counter() - begin > most * 6:
            break
    batch = queries[:64]
    start = time.perf_counter()
    scores = documents @ batch.T
    for column in scores.T:
        np.argpartition(column, len(column) - K)[-K:]
    together = (time.perf_counter() - start) * 1e3 / len(batch)
    return np.array(best), {"p50": np.percentile(times, 50), "p99": np.percentile(times, 99), "batch": together}


def recall(service, queries, exact):
    """The share of the exact ten that the service finds, by their scores: every score is the exact product."""
    found, apart = [], 0.0
    for query, scores in zip(queries, exact):
        if scores[-1] <= 0:
            continue
        answer = service.ask("/search", {"query": query, "k": K, "models": ["pls"], "fields": []})
        ours = np.array([hit["score"] for hit in answer["hits"]])
        slack = 1e-4 * abs(scores[0])
        apart = max(apart, (ours - scores[: len(ours)]).max() / abs(scores[0])) if len(ours) else apart
        found.append((ours >= scores[-1] - slack).sum() / K)
    if apart > 1e-4:
        wrong(f"a score of the latent part is above the exact one by a share of {apart:.1e}")
    return float(np.mean(found)), len(found)


def embed(service, queries):
    """Images of the queries, and the model's version."""
    rows, version = [], None
    for first in range(0, len(queries), 50):
        answer = service.ask("/embed", {"model": "pls", "queries": queries[first : first + 50]})
        rows.extend(answer["queries"])
        version = answer["model"]["version"]
    return np.array(rows, np.float32), version


def ms(number):
    """Milliseconds with three digits that count."""
    digits = 3 if number < 1 else 2 if number < 10 else 1 if number < 100 else 0
    return f"{number:.{digits}f}"


def measure(name):
    """One collection: load over 1, 8 and 64 connections, the peers, recall and memory."""
    collection = Collection(name)
    index, built = collection.index()
    turns = in_turns(index, collection.queries_file)
    with Service(index) as service:
        n = service.ask("/ready")["documents"]
        fresh = service.memory()
        say(f"#### {name}: {n:,} documents, d = {DIM}, k = {K}, candidates {DEPTH}\n")
        say("| search | connections | requests/s | p50 ms | p90 ms | p99 ms | max ms | service says, p50 ms | failures "
            "| processors: service | load |")
        say("|---|---|---|---|---|---|---|---|---|---|---|")
        peers = [tantivy(index, collection.queries_file)]
        loads = {}
        for mode, models in MODES.items():
            with collection.bodies(models) as bodies:
                for connections in CONNECTIONS:
                    answer = service.load(bodies, connections)
                    loads[mode, connections] = answer
                    times = answer["ms"] or dict.fromkeys(("p50", "p90", "p99", "max"), float("nan"))
                    said = answer["took_ms"]["p50"] if answer["took_ms"] else float("nan")
                    say(f"| {mode} | {connections} | {answer['requests_per_second']:,.0f} "
                        f"| {' | '.join(ms(times[key]) for key in ('p50', 'p90', 'p99', 'max'))} | {ms(said)} "
                        f"| {answer['failures']} | {answer['service_processors']:.2f} "
                        f"| {answer['load_processors']:.2f} |")
                    keep(name, mode=mode, load=answer)
        loaded = service.memory()
        say()
        for (mode, connections), answer in loads.items():
            check(f"{name}, {mode}, {connections} connections", answer)
        peers.append(tantivy(index, collection.queries_file))
        versus_tantivy(name, loads, peers, turns)
        sparse(name, service, turns)
        versus_numpy(name, service, index, collection, loads)
        counted = re.findall(r'liken_requests_total\{route="/search"[^}]*status="(\d+)"\} (\d+)', service.ask("/metrics"))
        say(f"Index: made in {built['seconds']:.0f} s with at most {built['gib']:.2f} GiB, {built['disk_gib']:.2f} GiB on "
            f"disk; opened in {service.opened:.1f} s. The service's memory: {fresh['own']:.2f} GiB of its own and "
            f"{fresh['files']:.2f} of mapped files after opening, {loaded['own']:.2f} and {loaded['files']:.2f} after "
            f"load. An answer has {loads['hybrid', 1]['bytes_per_answer'] / 1024:.1f} KiB. "
            f"`/metrics`: {', '.join(f'{int(count):,} answers {status}' for status, count in counted)}.\n")
        keep(name, built=built, opened=service.opened, fresh=fresh, loaded=loaded, answers=counted)
        if name == "million":
            goals(loads)


def versus_tantivy(name, loads, peers, turns):
    """BM25 beside tantivy's own, in turns within one process and as a service; of two runs of tantivy alone the better
    one counts."""
    say("| BM25 | of times the | in turns: tantivy, ms | liken, ms (ratio) | with texts of documents, ms (ratio) "
        f"| tantivy alone, ms | service says, ms (ratio) | over HTTP, ms (ratio) | tantivy, {THREADS} threads, queries/s "
        "| service, 8 connections, requests/s (ratio) |")
    say("|---|---|---|---|---|---|---|---|---|---|")
    one, eight = loads["BM25", 1], loads["BM25", 8]
    if not one["ms"] or not one["took_ms"]:
        return
    for k, label in (K, f"best {K}"), (DEPTH, f"best {DEPTH}, as many as the service looks at"):
        threads = max(peer[k, int(THREADS)]["queries_per_second"] for peer in peers)
        rate = eight["requests_per_second"]
        for key, called in ("p50", "median"), ("mean", "mean"):
            alone = min(peer[k, 1]["ms"][key] for peer in peers)
            said, over = one["took_ms"][key], one["ms"][key]
            theirs = turns[k]["tantivy_ms"][key]
            bare, whole = (turns[k]["liken"]["bm25"][of][key] for of in ("bare_ms", "whole_ms"))
            say(f"| {label} | {called} | {ms(theirs)} | {ms(bare)} ({bare / theirs:.2f}) "
                f"| {ms(whole)} ({whole / theirs:.2f}) | {ms(alone)} "
                f"| {ms(said)} ({said / alone:.2f}) | {ms(over)} ({over / alone:.2f}) "
                f"| {threads:,.0f} | {rate:,.0f} ({rate / threads:.2f}) |")
            keep(name, peer="tantivy", k=k, of=key, alone=alone, said=said, over_http=over, rate=threads,
                 turns=(theirs, bare, whole))
    say()


def sparse(name, service, turns):
    """A model of sparse vectors beside BM25, in turns within one process."""
    say("| in turns, best 10 | BM25, ms | association, ms (ratio) | BM25 with texts of documents, ms "
        "| association, ms (ratio) |")
    say("|---|---|---|---|---|")
    bm25, association = (turns[K]["liken"][model] for model in ("bm25", "association"))
    for key, called in ("p50", "median"), ("mean", "mean"), ("p99", "99th percentile"):
        cells = [f"{ms(bm25[of][key])} | {ms(association[of][key])} ({association[of][key] / bm25[of][key]:.2f})"
                 for of in ("bare_ms", "whole_ms")]
        say(f"| {called} | {' | '.join(cells)} |")
        keep(name, peer="bm25", of=key, bm25={of: bm25[of][key] for of in bm25},
             association={of: association[of][key] for of in association})
    [model] = [model for model in service.ask("/models")["models"] if model["name"] == "association"]
    say(f"\nCandidates of association: {model.get('neighbours') or 'all documents'}.\n")


def versus_numpy(name, service, index, collection, loads):
    """The latent part beside all products in numpy, and the recall that it has of them."""
    queries = collection.queries[:MEASURED]
    asked, version = embed(service, queries)
    documents = embeddings(index, version)
    exact, times = brute_force(documents, asked)
    share, n = recall(service, queries, exact)
    one = loads["latent", 1]
    if not one["ms"]:
        return
    say(f"| latent | {NUMPY}, all products, p50 ms | in a batch of 64, ms a query | service, 1 connection, p50 ms "
        f"| numpy / service | recall@{K} ({n} queries) |")
    say("|---|---|---|---|---|---|")
    say(f"| d = {documents.shape[1]} | {ms(times['p50'])} | {ms(times['batch'])} | {ms(one['ms']['p50'])} "
        f"| {times['p50'] / one['ms']['p50']:.1f} | {share:.4f} |\n")
    keep(name, peer="numpy", times=times, recall=share, queries=n)
    if share < RECALL:
        wrong(f"{name}: recall@{K} {share:.4f} is below {RECALL}")


def goals(loads):
    """What was promised for a million documents; times are said, not checked."""
    promised = [("median at 1 connection", 1, "p50", 15), ("median at 8", 8, "p50", 40), ("p99 at 8", 8, "p99", 120)]
    said = []
    for label, connections, key, most in promised:
        found = (loads["hybrid", connections]["ms"] or {}).get(key, float("inf"))
        said.append(f"{label} {ms(found)} ms ({'within' if found <= most else 'above'} {most})")
    say(f"Hybrid search of a million documents: {', '.join(said)}.\n")


# --- swapping a model -------------------------------------------------------------------------


def swap(name="citeulike-t", connections=64, turns=6):
    """Loads another version during load, activates it, rolls it back, again and again."""
    collection = Collection(name)
    other = collection.model("pls-other", "pls", "--dim", 100)
    index, _ = collection.index()
    with Service(index) as service, collection.bodies(MODES["hybrid"]) as bodies:
        # A few queries again and again, so that the versions' answers to each can be compared.
        few = tempfile.NamedTemporaryFile("w", suffix=".jsonl")
        few.write("".join(Path(bodies.name).read_text().splitlines(keepends=True)[:200]))
        few.flush()
        seconds = max(SECONDS, turns * 2.0)
        found = {}
        thread = threading.Thread(
            target=lambda: found.update(service.load(few, connections, seconds=seconds + 5, parse=1))
        )
        thread.start()
        time.sleep(3)
        start = time.perf_counter()
        second = service.ask("/models", {"name": "pls", "path": str(other.resolve()), "activate": False})["version"]
        loaded = time.perf_counter() - start
        changes = 0
        while thread.is_alive() and changes < 200 * turns:
            service.ask("/models/pls/activate", {"version": second})
            time.sleep(0.2)
            service.ask("/models/pls/rollback", "")
            time.sleep(0.2)
            changes += 2
        thread.join()
        with few:
            pass
    say(f"#### A model swapped under load: {name}, hybrid, {connections} connections\n")
    versions = ", ".join(f"{count:,} by {names}" for names, count in found["versions"].items())
    say(f"{found['requests']:,} requests in {found['seconds']:.0f} s while another version of the latent model was loaded "
        f"({loaded:.1f} s) and the active one changed {changes} times: {found['failures']} failed, {found['mixed']} mixed, "
        f"{found['without_version']} without versions, of {found['answers_read']:,} that were read; p50 "
        f"{ms(found['ms']['p50'])} ms, p99 {ms(found['ms']['p99'])} ms, max {ms(found['ms']['max'])} ms. Answers: "
        f"{versions}. The load took {found['processor_seconds']:.1f} s of the processors.\n")
    keep("swap", changes=changes, loaded=loaded, load=found)
    check("swap", found)
    if len(found["versions"]) < 2:
        wrong("swap: the answers name only one version")


# --- the page ---------------------------------------------------------------------------------

CASES = {**{name: (lambda name=name: measure(name)) for name in IMPORTS}, "swap": swap}


def main():
    args = sys.argv[1:]
    unknown = set(args) - set(CASES)
    if unknown:
        sys.exit(f"no such case: {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    if not DATA.exists():
        sys.exit(f"{DATA}: not there; LIKEN_DATA names the folder with the data")
    say(f"Measured on {machine()}, the load on the same ones; {SECONDS:.0f} s each; load average at the start "
        f"{os.getloadavg()[0]:.1f}.\n")
    for name, case in CASES.items():
        if name in (args or CASES):
            case()
            kept = {"machine": machine(), "figures": KEPT, "wrong": WRONG}
            (target() / "bench-serve.json").write_text(json.dumps(kept, indent=1, default=float))
    page = DOCS / "BENCHMARKS.md"
    text = page.read_text()
    if not args and BEGIN in text:
        head, rest = text.split(BEGIN)
        page.write_text(head + BEGIN + "\n" + "\n".join(LINES) + "\n" + END + rest.split(END)[1])
    if WRONG:
        sys.exit("\n".join(WRONG))


if __name__ == "__main__":
    main()
