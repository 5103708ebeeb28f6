#!/usr/bin/env bash
# Fails if tests were skipped that nobody asked to skip. The argument is the file that tests wrote
# a line to for each skip (LIKEN_SKIP_LOG): what was missing, and in parentheses the variable that
# asked for the skip, if one did. The file is removed.
set -euo pipefail

log="$1"
[ -f "$log" ] || { echo "0 tests skipped"; exit 0; }
asked="$(grep -c '(LIKEN_NO_' "$log" || true)"
missing="$(grep -v '(LIKEN_NO_' "$log" | sort | uniq -c || true)"
rm -f "$log"
echo "$asked tests skipped on request (LIKEN_NO_DATA, LIKEN_NO_BROWSER)"
[ -z "$missing" ] && exit 0
{
  echo "tests were skipped for want of:"
  echo "$missing"
  echo "LIKEN_DATA names the folder with real data; LIKEN_NO_DATA=1 skips the tests on it by request"
} >&2
exit 1
