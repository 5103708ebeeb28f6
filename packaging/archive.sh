#!/usr/bin/env bash
# Packs a built `liken` for one platform, as releases have it:
#
#   packaging/archive.sh TARGET FOLDER OUTPUT    the binary FOLDER/liken becomes OUTPUT/liken-VERSION-TARGET.tar.gz
#   packaging/archive.sh --name TARGET           prints liken-VERSION-TARGET
#
# The archive holds a folder with the binary, README, changelog, licences, shell completions and man
# pages. Where the build left debugging symbols beside the binary (`liken.dwp`, `liken.dSYM`), a second
# archive, liken-VERSION-TARGET-symbols.tar.gz, has them and the binary that they belong to.
#
# The binary runs to write completions and man pages, so TARGET must be this machine's.
set -euo pipefail
root="$(cd "$(dirname "$0")/.." && pwd)"

usage() {
  echo "usage: $0 TARGET FOLDER OUTPUT | --name TARGET" >&2
  exit 2
}

version="$(sed -n 's/^version = "\(.*\)"$/\1/p' "$root/Cargo.toml")"
if [ $# -eq 2 ] && [ "$1" = --name ]; then
  echo "liken-$version-$2"
  exit
fi
[ $# -eq 3 ] || usage
name="liken-$version-$1"
built="$(cd "$2" && pwd)"
mkdir -p "$3"
output="$(cd "$3" && pwd)"

[ "$("$built/liken" --version)" = "liken $version" ] || {
  echo "$built/liken is not version $version" >&2
  exit 1
}

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

pack() { # FOLDER
  # COPYFILE_DISABLE: else tar on macOS adds a file of attributes for each file. --format and owner 0:
  # the same for GNU tar and bsdtar, and nothing of the machine that packed it.
  local owner=(--owner=0 --group=0)
  tar --version | grep -q GNU || owner=(--uid 0 --gid 0)
  COPYFILE_DISABLE=1 tar -C "$work" --format ustar "${owner[@]}" -czf "$output/$1.tar.gz" "$1"
  echo "$output/$1.tar.gz"
}

mkdir -p "$work/$name/completions"
cp "$built/liken" "$work/$name/"
# Debugging symbols have an archive of their own; names of functions stay, for backtraces.
strip -S "$work/$name/liken"
cp "$root/README.md" "$root/CHANGELOG.md" "$root/LICENSE-MIT" "$root/LICENSE-APACHE" "$work/$name/"
# The file names under which the shells look for them.
"$built/liken" completions bash >"$work/$name/completions/liken.bash"
"$built/liken" completions zsh >"$work/$name/completions/_liken"
"$built/liken" completions fish >"$work/$name/completions/liken.fish"
"$built/liken" man -o "$work/$name/man"
pack "$name"

symbols="$name-symbols"
mkdir -p "$work/$symbols"
for file in liken.dwp liken.dSYM; do
  if [ -e "$built/$file" ]; then
    # Dereferenced: cargo links the folder of symbols on macOS.
    cp -RL "$built/$file" "$work/$symbols/"
  fi
done
if [ -n "$(ls -A "$work/$symbols")" ]; then
  cp "$built/liken" "$work/$symbols/"
  pack "$symbols"
fi
