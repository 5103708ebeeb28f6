#!/usr/bin/env bash
# Type-checks everything for Linux on ARM, so that code for one processor alone is noticed. It needs
# Rust's standard library for that target (by rustup) and a C compiler for it (by apt, where this
# script may install packages). Where one of them cannot be had it says so and is content.
# Arguments are those of `cargo check`, the packages.
set -euo pipefail
cd "$(dirname "$0")/.."

target=aarch64-unknown-linux-gnu
compiler=aarch64-linux-gnu-gcc

have() { command -v "$1" >/dev/null 2>&1; }
without() {
  echo "not checked for $target: $1"
  exit 0
}

[ "$(uname -m)" = aarch64 ] && exit 0 # the tests themselves are the check
if [ ! -d "$(rustc --print sysroot)/lib/rustlib/$target/lib" ]; then
  have rustup || without "there is no rustup to install its standard library"
  rustup target add "$target" >/dev/null 2>&1 || without "rustup target add $target failed"
fi
if ! have "$compiler"; then
  if [ "$(id -u)" -ne 0 ] || ! have apt-get; then
    without "there is no $compiler: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross"
  fi
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    gcc-aarch64-linux-gnu libc6-dev-arm64-cross; } >/dev/null 2>&1 || without "apt-get could not install gcc-aarch64-linux-gnu"
fi
export CC_aarch64_unknown_linux_gnu="$compiler" AR_aarch64_unknown_linux_gnu=aarch64-linux-gnu-ar
cargo check --target "$target" "$@"
