"""A corpus of a million documents with clicks, for bench/serve.py: topics, synonyms and Zipf's law.

`liken synth` makes click logs whose documents are titles of four or five words, and a corpus of long
documents without clicks. A search service wants both at once. Here a document has a title and a body of
about forty words, a class and a year; three words in ten are general, the others belong to its topics. A
topic shares words with the others of its area, frequent words belong to many topics, and all frequencies
follow Zipf's law as Mandelbrot has it.
A query is made from a document: words of its topics, some of them in words that only queries have, so that
there is a gap which a learnt model can close and BM25 cannot. It is clicked on that document and on a few
others of the same topic. Everything depends on one seed.

Usage: .venv/bin/python bench/million.py FOLDER [documents]
  writes documents.jsonl, clicks.tsv and queries.txt (fresh queries, one a line)
"""

import json
import sys
from pathlib import Path

import numpy as np

GENERAL, CONTENT, SPOKEN = 4_000, 180_000, 15
AREAS, TOPICS_PER_AREA = 100, 20
TOPICS = AREAS * TOPICS_PER_AREA
# Words that a topic shares with its area, of so many that the area has, and words that it has besides.
SHARED, AREA_WORDS, OWN = 150, 600, 150
# The words in the order of their numbers: general ones, those with a content, those of queries alone.
FIRST_SPOKEN = GENERAL + CONTENT
WORDS = FIRST_SPOKEN + TOPICS * SPOKEN
BLOCK = 50_000


def names(random):
    """Words of consonants and vowels that end in a, o or u, which no stemmer changes; frequent ones are short."""
    consonants, vowels, last = "bdfghjkmnprstvw", "aeiou", "aou"
    ends = [c + v for c in consonants for v in last]
    inner = [c + v for c in consonants for v in vowels]
    two = np.array([a + b for a in inner for b in ends], object)
    random.shuffle(two)
    # Three syllables number 75 · 75 · 45 = 253,125: enough for the rest, which is dealt at random.
    rest = random.choice(len(inner) ** 2 * len(ends), WORDS - len(two[:GENERAL]), replace=False)
    pairs, end = np.divmod(rest, len(ends))
    first, second = np.divmod(pairs, len(inner))
    longer = [inner[a] + inner[b] + ends[c] for a, b, c in zip(first, second, end)]
    return np.array(list(two[:GENERAL]) + longer[: WORDS - len(two[:GENERAL])], object)


class Zipf:
    """Draws of ranks below `n` with chances 1/(rank + shift)."""

    def __init__(self, n, shift=2.7):
        chances = 1 / (np.arange(n) + shift)
        self.upto = np.cumsum(chances / chances.sum())

    def draw(self, random, size):
        return np.minimum(np.searchsorted(self.upto, random.random(size)), len(self.upto) - 1)


general, content, within, spoken = Zipf(GENERAL, 10.0), Zipf(CONTENT, 30.0), Zipf(SHARED + OWN), Zipf(SPOKEN)


class Speech:
    """The spelling of the words, and which of them each topic has, in the order of their frequencies."""

    def __init__(self, random):
        self.spelt = names(random)
        # Frequent words belong to many topics, rare ones to one or two.
        own = content.draw(random, (TOPICS, OWN))
        areas = content.draw(random, (AREAS, AREA_WORDS))
        area = np.arange(TOPICS)[:, None] // TOPICS_PER_AREA
        shared = areas[area, random.integers(AREA_WORDS, size=(TOPICS, SHARED))]
        self.words = GENERAL + random.permuted(np.concatenate([own, shared], axis=1), axis=1)

    def say(self, random, topics, share):
        """One word for every one of `topics`, a general one with the chance `share`."""
        n = len(topics)
        of_topic = self.words[topics, within.draw(random, n)]
        return np.where(random.random(n) < share, general.draw(random, n), of_topic)


def topics_of(random, n):
    """The topics of `n` documents: a main one, one of the same area in half of them, any other in a sixth."""
    main = random.permutation(TOPICS)[Zipf(TOPICS, 200.0).draw(random, n)]
    beside = main // TOPICS_PER_AREA * TOPICS_PER_AREA + random.integers(TOPICS_PER_AREA, size=n)
    second = np.where(random.random(n) < 0.5, beside, main)
    third = np.where(random.random(n) < 1 / 6, random.integers(TOPICS, size=n), main)
    return np.stack([main, second, third], axis=1)


def write_documents(folder, random, speech, topics):
    with open(folder / "documents.jsonl", "w") as out:
        for first in range(0, len(topics), BLOCK):
            block = topics[first : first + BLOCK]
            n = len(block)
            lengths = 5 + random.poisson(4, n) + 15 + random.negative_binomial(4, 0.22, n)
            titles = np.minimum(5 + random.poisson(3, n), 14)
            owner = np.repeat(np.arange(n), lengths)
            which = random.choice(3, size=len(owner), p=(0.6, 0.28, 0.12))
            words = speech.spelt[speech.say(random, block[owner, which], 0.3)]
            years = 2026 - np.minimum(random.geometric(0.12, n), 40)
            ends = np.cumsum(lengths)
            lines = []
            for row in range(n):
                text = words[ends[row] - lengths[row] : ends[row]]
                title, body = " ".join(text[: titles[row]]), " ".join(text[titles[row] :])
                # Nothing here needs an escape.
                lines.append(
                    f'{{"id":"d{first + row}","title":"{title}","body":"{body}",'
                    f'"class":"area{block[row, 0] // TOPICS_PER_AREA}","year":{years[row]}}}\n'
                )
            out.writelines(lines)


def queries_of(random, speech, topics, n):
    """`n` queries and the documents they were made from."""
    docs = random.integers(len(topics), size=n)
    lengths = random.choice((1, 2, 3, 4, 5), size=n, p=(0.05, 0.3, 0.35, 0.2, 0.1))
    owner = np.repeat(np.arange(n), lengths)
    which = random.choice(3, size=len(owner), p=(0.75, 0.2, 0.05))
    topics = topics[docs[owner], which]
    said = FIRST_SPOKEN + topics * SPOKEN + spoken.draw(random, len(owner))
    words = np.where(random.random(len(owner)) < 0.25, said, speech.say(random, topics, 0.2))
    ends = np.cumsum(lengths)
    texts = [" ".join(dict.fromkeys(speech.spelt[words[end - length : end]])) for end, length in zip(ends, lengths)]
    return texts, docs


def write_clicks(folder, random, speech, topics, n):
    texts, docs = queries_of(random, speech, topics, n)
    order = np.argsort(topics[:, 0], kind="stable")
    starts = np.searchsorted(topics[order, 0], np.arange(TOPICS + 1))
    main = topics[docs, 0]
    others = random.geometric(0.5, n)
    with open(folder / "clicks.tsv", "w") as out:
        out.write("query\tdoc\tclicks\n")
        for text, doc, topic, more in zip(texts, docs, main, others):
            near = order[random.integers(starts[topic], starts[topic + 1], size=more)]
            for at, chosen in enumerate(dict.fromkeys([int(doc), *near.tolist()])):
                out.write(f"{text}\td{chosen}\t{4 + (6 if at == 0 else 0) + len(text) % 5}\n")


def write(folder, documents=1_000_000, seed=1):
    """Writes the corpus; the number of queries is a tenth of that of documents."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(seed)
    speech = Speech(random)
    topics = topics_of(random, documents)
    write_documents(folder, random, speech, topics)
    queries = documents // 10
    write_clicks(folder, np.random.default_rng([seed, 1]), speech, topics, queries)
    fresh, _ = queries_of(np.random.default_rng([seed, 2]), speech, topics, 10_000)
    (folder / "queries.txt").write_text("".join(f"{text}\n" for text in fresh))
    about = {"documents": documents, "queries": queries, "words": WORDS, "topics": TOPICS, "seed": seed}
    (folder / "about.json").write_text(json.dumps(about))


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    write(sys.argv[1], *map(int, sys.argv[2:]))
