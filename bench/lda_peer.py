"""Checks liken's LDA on the newsgroups against scikit-learn, from the same counts.

1. The shares of topics that liken finds for its documents are those of scikit-learn's transform with
   liken's topics: a mean difference above 0.001 ends the run with exit code 1.
2. Both are fitted to the training part with the same priors, and foretell every second token of the
   test part from the others (document completion, point estimates, all shares by scikit-learn). A
   perplexity more than 3 % above scikit-learn's ends the run with exit code 1; times are only said.

Usage: .venv/bin/python bench/lda_peer.py [folder of the newsgroups] [topics] [passes of scikit-learn]
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file
from scipy.sparse import csr_matrix
from sklearn.decomposition import LatentDirichletAllocation

ROOT = Path(__file__).resolve().parent.parent
LIKEN = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "liken"
LEAST = 1e-12


def liken(*arguments):
    subprocess.run([str(LIKEN), "--quiet", *map(str, arguments)], check=True, stdout=subprocess.PIPE)


def terms_of(model):
    """The vocabulary of a model, in order."""
    return [json.loads(line) for line in (model / "vocabulary.jsonl").read_text().splitlines()]


def counts_of(model):
    """Documents × terms of a model."""
    counts, n_terms = load_file(model / "counts.safetensors"), len(terms_of(model))
    fields = [name.removesuffix(".starts") for name in counts if re.fullmatch(r"field\.\d+\.starts", name)]
    parts = []
    for field in fields:
        starts, indices, values = (counts[f"{field}.{part}"] for part in ("starts", "indices", "values"))
        shape = (len(starts) - 1, n_terms)
        parts.append(csr_matrix((values.astype(float), indices.astype(int), starts.astype(int)), shape=shape))
    return sum(parts[1:], parts[0]).tocsr()


def halves(bags):
    """Every second token of each bag, in the order of the terms, and the others."""
    bags.sort_indices()
    seen = np.zeros_like(bags.data)
    for start, end in zip(bags.indptr[:-1], bags.indptr[1:]):
        after = np.cumsum(bags.data[start:end])
        before = after - bags.data[start:end]
        seen[start:end] = np.ceil(after / 2) - np.ceil(before / 2)
    parts = [bags.copy(), bags.copy()]
    for part, data in zip(parts, (seen, bags.data - seen)):
        part.data = data
        part.eliminate_zeros()
    return parts


def with_topics(weights, alpha):
    """scikit-learn's LDA with these topics, topics × terms, ready to transform."""
    peer = LatentDirichletAllocation(len(weights), doc_topic_prior=alpha, max_doc_update_iter=100)
    peer.components_ = weights.astype(float)
    peer.doc_topic_prior_ = alpha
    peer.topic_word_prior_ = alpha
    peer.n_features_in_ = weights.shape[1]
    peer.n_batch_iter_, peer.n_iter_, peer.bound_ = 1, 1, 0.0
    peer.random_state_ = np.random.RandomState(0)
    from sklearn.decomposition._lda import _dirichlet_expectation_2d

    peer.exp_dirichlet_component_ = np.exp(_dirichlet_expectation_2d(peer.components_))
    return peer


def perplexity(peer, seen, rest):
    shares = peer.transform(seen)
    words = peer.components_ / peer.components_.sum(1, keepdims=True)
    log = 0.0
    for d, (start, end) in enumerate(zip(rest.indptr[:-1], rest.indptr[1:])):
        p = shares[d] @ words[:, rest.indices[start:end]]
        log += (rest.data[start:end] * np.log(np.maximum(p, LEAST))).sum()
    return float(np.exp(-log / rest.data.sum()))


def main(folder, dim, passes):
    alpha, fine = 1.0 / dim, True
    with tempfile.TemporaryDirectory() as work:
        work = Path(work)
        for part in ("train", "test"):
            liken("import", "--documents", folder / f"{part}.ldac.gz", "--vocabulary",
                  folder / "vocab.txt.gz", "-o", work / part)
        began = time.time()
        liken("train", "lda", work / "train", "--dim", dim, "-o", work / "lda")
        whole = time.time() - began
        liken("train", "bm25", work / "test", "-o", work / "words")
        train, test = counts_of(work / "lda"), counts_of(work / "words")
        place = {term: at for at, term in enumerate(terms_of(work / "lda"))}
        columns = np.array([place.get(term, -1) for term in terms_of(work / "words")])
        test = test.tocoo()
        kept = columns[test.col] >= 0
        test = csr_matrix((test.data[kept], (test.row[kept], columns[test.col[kept]])),
                          shape=(test.shape[0], train.shape[1]))
        learnt = load_file(work / "lda" / "part-0.safetensors")
    # Words that no document has are not of liken's model.
    known = learnt["phi"].any(axis=1)
    train, test = train[:, known], test[:, known]
    ours = with_topics(learnt["phi"][known].T, alpha)

    theirs = ours.transform(train)
    difference = np.abs(theirs - learnt["theta"])
    fine &= difference.mean() < 1e-3
    print(f"shares of topics: mean difference {difference.mean():.1e}, largest {difference.max():.1e}")

    seen, rest = halves(test)
    began = time.process_time()
    peer = LatentDirichletAllocation(dim, max_iter=passes, random_state=0).fit(train)
    took = time.process_time() - began
    found, expected = perplexity(ours, seen, rest), perplexity(peer, seen, rest)
    fine &= found <= 1.03 * expected
    print(f"perplexity: liken {found:.0f} ({whole:.1f} s with reading and writing), "
          f"scikit-learn {expected:.0f} ({took:.1f} s of one processor, {passes} passes)")
    return 0 if fine else 1


if __name__ == "__main__":
    given = sys.argv[1:]
    data = Path(os.environ.get("LIKEN_DATA", ROOT.parent / "shared" / "data"))
    sys.exit(main(Path(given[0]) if given else data / "newsgroups",
                  int(given[1]) if len(given) > 1 else 50, int(given[2]) if len(given) > 2 else 10))
