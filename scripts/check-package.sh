#!/usr/bin/env bash
# Packs every crate as `cargo publish` would, without compiling or publishing anything, and looks into
# the packages: what crates.io and readers need is there, nothing else is, and cargo-binstall would ask
# for the archive that packaging/archive.sh makes.
set -euo pipefail
cd "$(dirname "$0")/.."

MOST_BYTES=2000000 # crates.io takes 10 MB; all of liken is source text

metadata="$(cargo metadata --no-deps --format-version 1)"
folder="$(sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p' <<<"$metadata")/package"
version="$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

problems=0
problem() {
  echo "check-package: $*" >&2
  problems=$((problems + 1))
}

# A package that is there from before must not be taken for one of now.
rm -f "$folder"/*-"$version".crate
pack() { cargo package --workspace --no-verify --allow-dirty --quiet "$@"; }
# Where the registry's index is at hand this takes a second; else cargo fetches it first.
pack --offline 2>/dev/null || pack

# Files that `include_str!` or `include_bytes!` names in the sources of the package in $1, a line each.
included() {
  (cd "$1" && grep -rnoE 'include_(str|bytes)!\("[^"]+"\)' --include='*.rs' src || true) |
    while IFS=: read -r file _ call; do
      path="${call#*\"}"
      echo "$(dirname "$file")/${path%\"*}"
    done
}

check_files() { # PACKAGE FOLDER
  local file
  for file in Cargo.toml README.md LICENSE-MIT LICENSE-APACHE; do
    [ -s "$2/$file" ] || problem "$1: $file is missing"
    # A link that was packed as a link, or checked out as text, holds a path instead of the licence.
    [ ! -L "$2/$file" ] || problem "$1: $file is a link"
  done
  grep -qs 'Permission is hereby granted' "$2/LICENSE-MIT" || problem "$1: LICENSE-MIT is not the licence"
  grep -qs 'Apache License' "$2/LICENSE-APACHE" || problem "$1: LICENSE-APACHE is not the licence"

  included "$2" | sort -u >"$work/included"
  while read -r file; do
    [ -f "$2/$file" ] || problem "$1: the sources include $file, which is not in the package"
  done <"$work/included"
  (cd "$2" && find . -type f -o -type l) | sed 's#^\./##' | sort >"$work/files"
  while read -r file; do
    case "$file" in
    Cargo.toml | Cargo.toml.orig | Cargo.lock | .cargo_vcs_info.json) ;;
    README.md | LICENSE-MIT | LICENSE-APACHE) ;;
    src/*.rs) ;;
    # Anything else must be a part of the program, or of a unit test.
    *) grep -qxF "$file" "$work/included" || problem "$1: $file does not belong into a package" ;;
    esac
  done <"$work/files"
}

check_manifest() { # PACKAGE FOLDER
  # The manifest as cargo writes it: one key or one item of a list a line, [package] first.
  sed -n '/^\[package\]$/,/^\[[^p]/p' "$2/Cargo.toml" >"$work/manifest"
  local key n
  for key in description license repository readme rust-version keywords categories; do
    grep -qE "^$key = (\"[^\"]|\[)" "$work/manifest" || problem "$1: no $key in its manifest"
  done
  n="$(sed -n '/^keywords = \[/,/^\]/p' "$work/manifest" | grep -c '^ ' || true)"
  [ "$n" -le 5 ] || problem "$1: $n keywords, and crates.io takes 5"
}

packages=0
for manifest in crates/*/Cargo.toml; do
  name="$(sed -n 's/^name = "\(.*\)"$/\1/p' "$manifest" | head -n 1)"
  package="$name-$version"
  archive="$folder/$package.crate"
  [ -f "$archive" ] || { problem "$name: cargo made no $archive"; continue; }
  size="$(wc -c <"$archive")"
  [ "$size" -lt "$MOST_BYTES" ] || problem "$name: $size bytes, more than $MOST_BYTES"
  tar -xzf "$archive" -C "$work"
  check_files "$name" "$work/$package"
  check_manifest "$name" "$work/$package"
  packages=$((packages + 1))
done

# The address that cargo-binstall makes must end in the name of an archive of a release.
target=x86_64-unknown-linux-gnu
address="$(sed -n 's/^pkg-url = "\(.*\)"$/\1/p' crates/cli/Cargo.toml |
  sed "s/{ version }/$version/g; s/{ target }/$target/g")"
[ "${address##*/}" = "$(packaging/archive.sh --name $target).tar.gz" ] ||
  problem "liken-cli: cargo-binstall would ask for ${address##*/}, and packaging/archive.sh makes $(packaging/archive.sh --name $target).tar.gz"

[ "$problems" -eq 0 ] || { echo "check-package: $problems problems" >&2; exit 1; }
echo "check-package: $packages packages of version $version in $folder"
