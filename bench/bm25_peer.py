"""Checks liken's BM25 on the SMART collections against bm25s, from the files to mean AP.

Each collection is imported and measured by liken, and ranked by bm25s (method lucene, the same
k1 and b) twice: on the terms that liken counted, which checks the scores, and on files read and
cut into stems here, which checks the reading, too. Average precision is computed here in both
cases. A mean AP that differs by more than 0.02 ends the run with exit code 1.

Usage: make bm25, or .venv/bin/python bench/bm25_peer.py [folder of the collections]
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import bm25s
import numpy as np
import Stemmer
from bm25s.stopwords import STOPWORDS_EN_PLUS
from safetensors.numpy import load_file

ROOT = Path(__file__).resolve().parent.parent
LIKEN = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "liken"
K1, B = 1.2, 0.75
TOLERANCE = 0.02

COLLECTIONS = {
    "cran": ("cran.all.1400", "cran.qry", "cranqrel"),
    "cisi": ("CISI.ALL", "CISI.QRY", "CISI.REL"),
    "med": ("MED.ALL", "MED.QRY", "MED.REL"),
}
CRAN = ["--columns", "queries:id=position", "--grades", "1=4,2=3,3=2,4=1,-1=0"]


def liken(*arguments):
    """What a command of liken prints."""
    command = [str(LIKEN), "--quiet", *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def of_liken(files, more, work):
    """liken's own mean AP, and the terms of its documents and queries."""
    documents, queries, judgments = files
    data, model = work / "data", work / "model"
    liken("import", "--documents", documents, "--queries", queries, "--judgments", judgments,
          "--validation", "0", "--test", "1", *more, "-o", data)
    liken("train", "bm25", data, "-o", model)
    table = json.loads(liken("compare", data, "--models", "bm25", "--measures", "AP",
                             "--candidates", "all", "--format", "json"))
    counts = load_file(model / "counts.safetensors")
    fields = [name.removesuffix(".starts") for name in counts if re.fullmatch(r"field\.\d+\.starts", name)]
    texts = [terms(counts, field) for field in sorted(fields)]
    return table["rows"][0]["cells"][0]["mean"], [sum(parts, []) for parts in zip(*texts)], terms(counts, "queries")


def terms(counts, name):
    """Every row of a matrix of counts as a list of terms."""
    starts, indices, values = (counts[f"{name}.{part}"] for part in ("starts", "indices", "values"))
    rows = zip(starts[:-1], starts[1:])
    return [np.repeat(indices[a:b], values[a:b].astype(int)).tolist() for a, b in rows]


def records(path):
    """The title and text of every record of a SMART file."""
    texts = []
    for record in re.split(r"(?m)^\.I[ \t].*$", path.read_text())[1:]:
        parts = re.split(r"(?m)^\.([A-Z])\s*$", record)
        named = zip(parts[1::2], parts[2::2])
        texts.append(" ".join(text for letter, text in named if letter in "TW"))
    return texts


def relevant(path):
    """The relevant documents of every query, both counted from 0."""
    found = {}
    for line in path.read_text().splitlines():
        fields = line.split()
        if fields[2:] != ["-1"]:
            found.setdefault(int(fields[0]) - 1, set()).add(int(fields[1]) - 1)
    return found


def stems(texts):
    """Words of letters and digits, without stop words, as Snowball stems."""
    stemmer, stop_words = Stemmer.Stemmer("english"), set(STOPWORDS_EN_PLUS)
    words = ([w for w in re.findall(r"[a-z0-9]+", text.lower()) if w not in stop_words] for text in texts)
    return [stemmer.stemWords(found) for found in words]


def mean_ap(documents, queries, judged):
    """Mean average precision of bm25s."""
    vocabulary = {}
    numbered = [[vocabulary.setdefault(term, len(vocabulary)) for term in text] for text in documents]
    asked = [[vocabulary[term] for term in text if term in vocabulary] for text in queries]
    index = bm25s.BM25(method="lucene", k1=K1, b=B)
    index.index((numbered, vocabulary), show_progress=False)
    # Ties as trec_eval breaks them: the larger id, as a text, first.
    ids = sorted(range(len(documents)), key=lambda doc: str(doc + 1), reverse=True)
    ties = np.argsort(ids)
    scores = []
    for query, good in judged.items():
        order = np.lexsort((ties, -index.get_scores_from_ids(asked[query]))) if asked[query] else []
        ranks = [rank for rank, doc in enumerate(order, 1) if int(doc) in good]
        scores.append(sum(n / rank for n, rank in enumerate(ranks, 1)) / len(good))
    return float(np.mean(scores))


def main():
    data = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("LIKEN_DATA", ROOT.parent / "shared" / "data"))
    print("| collection | liken | bm25s, same terms | bm25s, own reading |")
    print("|---|---:|---:|---:|")
    far = False
    for name, files in COLLECTIONS.items():
        files = [data / name / file for file in files]
        with tempfile.TemporaryDirectory() as work:
            ours, documents, queries = of_liken(files, CRAN if name == "cran" else [], Path(work))
        judged = relevant(files[2])
        same = mean_ap(documents, queries, judged)
        own = mean_ap(stems(records(files[0])), stems(records(files[1])), judged)
        print(f"| {name} | {ours:.4f} | {same:.4f} | {own:.4f} |")
        far |= max(abs(ours - same), abs(ours - own)) > TOLERANCE
    sys.exit(f"mean AP differs by more than {TOLERANCE}" if far else 0)


if __name__ == "__main__":
    main()
