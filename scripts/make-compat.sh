#!/usr/bin/env bash
# Makes a folder of everything that a binary writes to disk, as it writes it: a dataset, a model of
# every method, rankers, a used index, a tuning, an experiment file, and what came out of them.
# crates/cli/tests/cli/compat.rs opens all of it with the binary of now.
#
#   scripts/make-compat.sh target/release/liken v2
#
# writes crates/cli/tests/compat/v2. Make one for each version that writes something differently, with
# the binary of that version, and never change one that is there: it is what users have on disk.
set -euo pipefail

[ $# -eq 2 ] || { echo "usage: $0 BINARY VERSION" >&2; exit 2; }
liken="$(realpath "$1")"
target="$(realpath "$(dirname "$0")/..")/crates/cli/tests/compat/$2"
[ ! -e "$target" ] || { echo "$target is there already" >&2; exit 1; }
[ -x "$liken" ] || { echo "$1: no program" >&2; exit 1; }

# Folders keep the path of their dataset: a neutral one.
work="/tmp/liken-compat/$2"
rm -rf "$work"
mkdir -p "$work"
cd "$work"
service=""
trap '[ -z "$service" ] || kill "$service" 2>/dev/null || true' EXIT

python3 - <<'PYTHON'
"""A small log of searches: people and pages use different words for the same things."""
import json
import random

CONCEPTS = [  # class, words of people, words of pages
    ("health", "heart attack chest pain", "myocardial infarction cardiac arrest"),
    ("health", "high blood pressure", "hypertension systolic diastolic"),
    ("health", "broken bone arm", "fracture radius ulna cast"),
    ("health", "stomach flu sick", "gastroenteritis viral infection"),
    ("travel", "cheap flights plane", "discount airfare airline"),
    ("travel", "hotel room cheap", "budget accommodation lodging"),
    ("travel", "train to paris", "railway timetable gare"),
    ("travel", "visa for india", "entry permit consulate"),
    ("space", "how far is the sun", "distance astronomical unit earth"),
    ("space", "shooting star tonight", "meteor shower perseids"),
    ("space", "first man on the moon", "apollo lunar landing armstrong"),
    ("space", "red planet mars", "iron oxide rust surface"),
]
KINDS = ["guide", "news", "faq", "overview", "forum"]
draw = random.Random(1)

documents = []
for c, (topic, people, pages) in enumerate(CONCEPTS):
    for k, kind in enumerate(KINDS):
        words = pages.split()
        draw.shuffle(words)
        own = people.split() if k == 4 else draw.sample(people.split(), 1)
        other = draw.choice(CONCEPTS)[2].split()
        documents.append({
            "id": f"d{c:02}{k}",
            "title": f"{' '.join(words[:2])} {kind}",
            "body": f"This {kind} is about {' '.join(words)} and {' '.join(own)}. See also {other[0]}.",
            "url": f"https://{topic}.example/{kind}/{words[0]}",
            "class": topic,
            "year": 2000 + (7 * c + 3 * k) % 25,
        })
with open("documents.jsonl", "w") as out:
    out.writelines(json.dumps(document) + "\n" for document in documents)

queries = []
for c, (_, people, pages) in enumerate(CONCEPTS):
    words = people.split()
    queries += [(people, c), (" ".join(words[:2]), c), (f"{words[-1]} {pages.split()[0]}", c),
                (f"{pages.split()[1]} {words[0]}", c), (f"about {words[-1]}", c)]

events, time, page = [], 1_700_000_000, 0
for query, c in queries:
    for _ in range(draw.randint(5, 9)):
        page += 1
        time += 3600
        shown = draw.sample([d for d in documents if d["id"].startswith(f"d{c:02}")], 3)
        shown += draw.sample(documents, 3)
        shown = list({d["id"]: d for d in shown}.values())
        draw.shuffle(shown)
        for rank, document in enumerate(shown, 1):
            right = document["id"].startswith(f"d{c:02}")
            clicked = draw.random() < (0.7 if right else 0.05) / rank**0.7
            events.append((time, f"u{page % 40}", f"p{page}", query, document["id"], rank, int(clicked)))
header = "time\tuser\tpage\tquery\tdoc\trank\tclicked\n"
rows = ["\t".join(map(str, event)) + "\n" for event in events]
last = 9 * len(rows) // 10
with open("events.tsv", "w") as out:
    out.writelines([header, *rows[:last]])
with open("last-day.tsv", "w") as out:
    out.writelines([header, *rows[last:]])

with open("judgments.tsv", "w") as out:
    out.write("query\tdoc\tgrade\n")
    for query, c in queries[::2]:
        for document in documents:
            right = document["id"].startswith(f"d{c:02}")
            if right or draw.random() < 0.1:
                out.write(f"{query}\t{document['id']}\t{draw.randint(1, 3) if right else 0}\n")

with open("queries.tsv", "w") as out:
    chosen = [query for query, _ in queries[1::11]] + ["cardiac pain flights", "earth and moon"]
    out.writelines(f"q{n}\t{query}\n" for n, query in enumerate(chosen, 1))
with open("new.jsonl", "w") as out:
    for n, text in enumerate(["cardiac arrest and cheap flights", "meteor shower on mars"]):
        out.write(json.dumps({"id": f"new{n}", "title": text, "body": text, "year": 2024}) + "\n")
PYTHON

"$liken" import --events events.tsv --documents documents.jsonl --judgments judgments.tsv \
  --min-clicks 2 --validation 0.5 -o data

# A model of every method, and mixes; small, so that the folder stays small.
methods="$("$liken" train --help | sed -n '/^Methods/,$p' | sed 1d | awk '{ print $1 }')"
mkdir models runs
for method in $methods pls+bm25 rrf:pls+bm25; do
  # Further names of methods that are there.
  case "$method" in lm-dirichlet | lsi) continue ;; esac
  name="${method//[:+]/-}"
  settings=()
  help="$("$liken" train "$method" --help | sed -n '/^Parameters of/,$p')"
  for setting in dim=4 class_dim=2 epochs=2 sweeps=3 iterations=5; do
    case "$method" in
      *+*) [ "$setting" != dim=4 ] || settings+=(--dim 4) ;;
      *) ! grep -q "^  ${setting%=*} \[" <<<"$help" || settings+=(--set "$setting") ;;
    esac
  done
  case "$method" in ssi) settings+=(--set negative=impressions) ;; esac
  "$liken" train "$method" data -o "models/$name" "${settings[@]}" > /dev/null
  "$liken" run "models/$name" --queries queries.tsv -k 10 -o "runs/$name.trec"
done
"$liken" run models/bm25 --queries queries.tsv --documents new.jsonl -k 10 -o with-new.trec
"$liken" fuse runs/bm25.trec runs/rmls.trec -o fused.trec

# Rankers of rows of features.
"$liken" features data --model models/bm25 --model models/rmls -o rows.csv > /dev/null
mkdir rankers scores
methods="$("$liken" rank train --help | sed -n '/^Methods/,$p' | sed 1d | awk '{ print $1 }')"
for method in $methods; do
  settings=()
  case "$method" in *mart) settings=(--set trees=8 --set leaves=4 --set min_leaf=2) ;; esac
  "$liken" rank train "$method" rows.csv -o "rankers/$method" "${settings[@]}" > /dev/null
  "$liken" rank predict "rankers/$method" rows.csv -o "scores/$method.txt"
done

# A learnt way to diversify.
awk -F'\t' 'NR > 1 { gsub(" ", "_", $1); print $1, NR % 3 + 1, $2, ($3 > 1) }' judgments.tsv > facets.qrels
awk -F'\t' 'NR > 1 { id = $1; gsub(" ", "_", id); print id "\t" $1 }' judgments.tsv | sort -u > facets.tsv
"$liken" run models/bm25 --queries facets.tsv -k 10 -o facets.trec
"$liken" diversify train facets.trec facets.qrels --model models/rmls -o diversify.json > /dev/null
"$liken" diversify facets.trec --model models/rmls --method diversify.json -o diversified.trec

# A tuning, and an experiment.
echo 'dim = [2, 3]' > grid.toml
"$liken" tune pls data --grid grid.toml --dim 4 -o tuning > /dev/null
cat > experiment.toml <<'TOML'
name = "compat"
[data]
events = { path = "events.tsv" }
documents = { path = "documents.jsonl" }
judgments = { path = "judgments.tsv" }
min_clicks = 2
validation = 0.5
[models.small]
method = "pls"
dim = 4
[compare]
rows = ["bm25", "small", "small+bm25"]
measures = ["nDCG@5", "AP"]
TOML
"$liken" experiment experiment.toml --expected > expected.toml
cat expected.toml >> experiment.toml
rm expected.toml

# An index that was used: documents came and went, clicks and grades came in, a run was brought.
"$liken" index data --model models/bm25 --model models/rmls --model mix=models/pls-bm25 \
  --ranker trees=rankers/lambdamart --ranker linear=rankers/ranking_svm -o index > /dev/null
start() {
  : > serve.log
  "$liken" serve index --port 0 --log-format none > serve.log 2>&1 &
  service=$!
  until grep -q '^serving at ' serve.log; do
    kill -0 "$service" || { cat serve.log >&2; exit 1; }
    sleep 0.1
  done
  url="$(sed -n 's/^serving at \([^ ]*\).*/\1/p' serve.log)"
  url="${url%/}"
}
stop() {
  kill -TERM "$service"
  wait "$service" || { cat serve.log >&2; exit 1; }
  service=""
  rm serve.log
}
ask() { # METHOD PATH BODY
  curl --silent --show-error --fail-with-body -X "$1" -H 'content-type: application/json' \
    ${key:+-H "authorization: Bearer $key"} --data-binary "$3" "$url$2"
}
key=""
start
python3 - > bodies <<'PYTHON'
import json
new = [json.loads(line) for line in open("new.jsonl")]
print(json.dumps(new + [{"id": "d001", "title": "replaced by another", "body": "cheap flights", "year": 1999}]))
events = []
for visit in range(6):
    shown, time = [f"d0{visit % 3}{visit % 5}", "d100"], 1_750_000_000.0 + visit
    about = {"query": f"cheap \"flights\" {visit % 2}", "session": f"visit {visit}"}
    events.append({"kind": "impression", "shown": shown, "time": time, **about})
    events.append({"kind": "click", "id": shown[0], "rank": 1, "time": time + 5, **about})
print(json.dumps(events))
print(json.dumps([
    {"query": "heart attack", "id": "d000", "grade": 3, "judge": "ann"},
    {"query": "heart attack", "id": "d000", "grade": 2, "judge": "bob"},
    {"query": "heart attack", "id": "d002", "grade": 0, "judge": "ann"},
    {"query": "cheap flights", "id": "new0", "grade": 1, "judge": None},
]))
PYTHON
ask PUT '/documents?wait=true' "$(sed -n 1p bodies)" > /dev/null
ask DELETE '/documents/d010?wait=true' '' > /dev/null
ask POST /events "$(sed -n 2p bodies)" > /dev/null
ask POST /judgments "$(sed -n 3p bodies)" > /dev/null
rm bodies
curl --silent --show-error --fail-with-body --data-binary @runs/lm.trec -H 'content-type: text/plain' "$url/runs?name=brought" > /dev/null
stop
"$liken" key add index --name reader --scope read > key.txt 2> /dev/null
"$liken" key add index --name writer --scope write > write-key.txt 2> /dev/null
"$liken" key add index --name gone --scope admin > /dev/null 2>&1
"$liken" key revoke index --name gone > /dev/null
"$liken" export index --events index-events.jsonl > /dev/null
"$liken" export index --documents index-documents.jsonl > /dev/null
"$liken" export index --judgments index-judgments > /dev/null

# What the index answers after all that, as run files: one a search.
cat > searches.jsonl <<'JSON'
{"query": "heart attack", "models": ["bm25"]}
{"query": "heart attack", "models": ["rmls"]}
{"query": "cardiac pain flights", "models": ["mix"]}
{"query": "cheap flights", "models": ["bm25", "rmls"]}
{"query": "cheap flights", "models": ["bm25", "rmls"], "ranker": "trees"}
{"query": "meteor shower", "models": ["bm25"], "ranker": "linear"}
{"query": "cheap flights", "models": ["bm25"], "filter": {"year": {"gte": 2010}}}
{"query": "meteor shower", "models": ["rmls"], "diversify": {"lambda": 0.5}}
JSON
start
key="$(cat key.txt)"
n=0
while IFS= read -r body; do
  n=$((n + 1))
  ask POST /search "$body" | python3 -c '
import json, sys
for hit in json.load(sys.stdin)["hits"]:
    print("{} Q0 {} {} {:.9f} index".format(sys.argv[1], hit["id"], hit["rank"], hit["score"]))
' "s$n"
done < searches.jsonl > index.trec
stop

# On which kind of machine the scores were computed, as golden_files.rs names it: the last bits may
# differ elsewhere.
{
  uname -m
  grep -m1 '^flags' /proc/cpuinfo | tr ' ' '\n' | grep -x -e avx2 -e fma -e avx512f | sort
  getconf GNU_LIBC_VERSION
} | paste -sd' ' > machine.txt

find . \( -name '*.lock' -o -name 'store.sqlite-*' \) -delete
mkdir -p "$(dirname "$target")"
cp -r "$work" "$target"
rm -rf "$work"
echo "$target: $(du -sb "$target" | cut -f1) bytes"
