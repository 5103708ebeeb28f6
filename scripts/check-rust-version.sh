#!/usr/bin/env bash
# The Rust version that the manifest promises (rust-version) is one that the project is compiled with.
# Where the compiler in use is that version, the tests are the proof. Where it is newer, the code is
# checked once more with that version, if rustup has it.
set -euo pipefail
cd "$(dirname "$0")/.."

wanted=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
used=$(rustc --version | cut -d ' ' -f 2)
case "$used" in
"$wanted" | "$wanted".*) exit 0 ;;
esac
if command -v rustup >/dev/null && installed=$(rustup toolchain list | grep -o "^${wanted}[0-9.]*-[^ ]*" | head -n 1) && [ -n "$installed" ]; then
    echo "checking with Rust $installed, the oldest that Cargo.toml promises"
    cargo "+$installed" check "$@"
else
    echo "Rust $used is not the version that Cargo.toml promises ($wanted), which was not checked: rustup toolchain install $wanted"
fi
