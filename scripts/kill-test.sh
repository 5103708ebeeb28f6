#!/usr/bin/env bash
# Kills a service in the middle of writing, again and again (200 times, or as often as the first
# argument says), and looks whether everything that it acknowledged is there afterwards.
# LIKEN_KILL_SEED chooses other random numbers. What else is given goes to cargo.
set -euo pipefail
cd "$(dirname "$0")/.."

rounds="${1:-200}"
[ $# -eq 0 ] || shift
cargo test --release --package liken-cli --test cli --no-run "$@"
if LIKEN_KILL_ROUNDS="$rounds" cargo test --release --quiet --package liken-cli --test cli "$@" -- \
  --exact serve_kill::kill_9_loses_nothing_that_was_acknowledged; then
  echo "kill-test: $rounds rounds, nothing lost, nothing torn"
else
  echo "kill-test: FAILED within $rounds rounds" >&2
  exit 1
fi
