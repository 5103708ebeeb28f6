#!/usr/bin/env bash
# Compiles all tests, then runs them, and says at the end how long each took. Arguments are those of
# `cargo test`, the packages.
set -euo pipefail
cd "$(dirname "$0")/.."

log="$PWD/.skipped-tests"
rm -f "$log"

# The CPU seconds of all commands so far: the last line of `times` has those of children, as 12m3.456s.
cpu() { times | awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, t, /[ms]/); sum += 60 * t[1] + t[2] } print int(sum) }'; }
minutes() { printf '%d min %d s' $(($1 / 60)) $(($1 % 60)); }

start=$SECONDS
cargo test --release "$@" --no-run
compiled=$SECONDS compiling=$(cpu)
LIKEN_SKIP_LOG="$log" cargo test --release "$@"
scripts/check-skipped.sh "$log"
echo "compiling took $(minutes $((compiled - start))) ($(minutes "$compiling") of processor time), testing $(minutes $((SECONDS - compiled)))"
