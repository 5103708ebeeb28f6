# `make help` lists what can be made. Everything is built in one profile, so that nothing is
# compiled twice.

PACKAGES = -p liken-math -p liken -p liken-pages -p liken-engine -p liken-server -p liken-cli
VENV = .venv
PYTHON = $(VENV)/bin/python

.PHONY: help test check bench bench-bilinear bench-eval bench-events bench-rank bench-serve bench-ssi bench-starts bench-topics bm25 demo diversity kill-test

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile

test: ## check the style and run every test (real data: LIKEN_DATA, default ../shared/data)
	cargo fmt --all --check
	@[ "$$LIKEN_NO_DATA" = 1 ] || [ -d "$${LIKEN_DATA:-../shared/data}" ] || { \
	  echo "$${LIKEN_DATA:-../shared/data}: not there; LIKEN_DATA names the folder with real data, LIKEN_NO_DATA=1 skips the tests on it"; exit 1; }
	@scripts/setup-browser.sh
	@scripts/check-package.sh
	@scripts/check-deploy.sh
	@scripts/check-aarch64.sh $(PACKAGES)
	@scripts/test.sh $(PACKAGES)

check: ## what `test` does not: lints, the oldest Rust, documentation, licences, advisories
	cargo fmt --all --check
	cargo clippy --release $(PACKAGES) --all-targets -- -D warnings
	@scripts/check-rust-version.sh --release $(PACKAGES)
	RUSTDOCFLAGS="-D warnings" cargo doc --release $(PACKAGES) --no-deps --document-private-items
	@if cargo deny --version >/dev/null 2>&1; then cargo deny check; \
	else echo "cargo-deny is not installed, so licences and advisories were not checked: cargo install cargo-deny"; fi

bench: $(PYTHON) ## measure the kernels beside scipy and scikit-learn (docs/BENCHMARKS.md)
	cargo build --release -p liken --examples
	$(PYTHON) bench/kernels.py

bm25: $(PYTHON) ## check BM25 on the SMART collections against bm25s (real data: LIKEN_DATA)
	cargo build --release -p liken-cli
	$(PYTHON) bench/bm25_peer.py

diversity: $(PYTHON) ## check measures of diversity against TREC's ndeval
	cargo build --release -p liken-cli
	$(PYTHON) bench/diversity.py

bench-eval: $(PYTHON) ## evaluate a run of 1,000 × 1,000 results beside pytrec_eval
	cargo build --release -p liken --examples
	$(PYTHON) bench/eval.py

bench-bilinear: $(PYTHON) ## time RMLS and PLS beside scipy and scikit-learn, memory and growth, on two threads (half an hour)
	cargo build --release -p liken -p liken-cli -p liken-pages --bins --examples
	$(PYTHON) bench/bilinear.py

bench-events: ## aggregate a raw log of 1 GiB within 256 MiB, beside GNU sort
	cargo build --release -p liken-cli
	python3 bench/events.py

bench-rank: $(PYTHON) ## LambdaMART beside LightGBM on two threads: how good and how fast (real data: LIKEN_DATA; half an hour)
	cargo build --release -p liken --examples
	$(PYTHON) bench/rank.py

bench-starts: ## RMLS with its defaults beside both of its starts on seven logs (real data: LIKEN_DATA; an hour)
	cargo build --release -p liken-cli
	python3 bench/starts.py

bench-topics: $(PYTHON) ## topic models beside scikit-learn and gensim, growth and memory, on two threads (real data: LIKEN_DATA; an hour)
	cargo build --release -p liken -p liken-cli -p liken-pages --bins --examples
	$(PYTHON) bench/topics.py

bench-serve: $(PYTHON) ## the search service under load beside tantivy and numpy, up to a million documents (real data: LIKEN_DATA; half an hour)
	cargo build --release -p liken-cli -p liken-server --bins --examples
	$(PYTHON) bench/serve.py

bench-ssi: ## time SSI's steps beside a plain loop, on the demo log
	cargo run --release -- synth demo --force -o target/bench-ssi
	cargo run --release -p liken --example ssi -- target/bench-ssi

kill-test: ## kill the service 200 times while it is written to: nothing acknowledged is lost
	scripts/kill-test.sh

demo: ## train, compare and explain on the built-in click log
	cargo run --release -- demo

$(PYTHON): bench/requirements.txt
	python3 -m venv $(VENV)
	$(VENV)/bin/pip install --quiet -r bench/requirements.txt
	touch $(PYTHON)
