#!/usr/bin/env bash
# Gets ready what the tests in a real browser need: Chromium and its driver (by apt, if they are
# missing), and axe-core, which checks pages for accessibility, into a cache outside the clone.
# It may be called any number of times; with everything in place it downloads nothing.
# LIKEN_NO_BROWSER=1 does without: then those tests are skipped, and counted.
set -euo pipefail

AXE_VERSION=4.14.0
AXE_SHA256=20c09fe157a8a34a30e241aaa1fcdade657734f08ab379ecfbeb7d45cc46e878

cache="${XDG_CACHE_HOME:-$HOME/.cache}/liken-browser"
axe="$cache/axe.min.js"

say() { echo "setup-browser: $*" >&2; }

fail() {
  say "$*"
  say "or set LIKEN_NO_BROWSER=1 to skip the tests in a browser"
  exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

have_browser() {
  have chromedriver && { have chromium || have chromium-browser || have google-chrome; }
}

axe_is_right() {
  [ -f "$1" ] && echo "$AXE_SHA256  $1" | sha256sum --check --status
}

install_browser() {
  have apt-get || fail "chromium and chromedriver are missing, and there is no apt-get: install both by hand"
  local root=()
  if [ "$(id -u)" -ne 0 ]; then
    have sudo || fail "chromium and chromedriver are missing: run this as root, or install the packages chromium and chromium-driver"
    root=(sudo)
  fi
  say "installing chromium and chromium-driver"
  "${root[@]}" apt-get update -qq >&2 || fail "apt-get update failed"
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends chromium chromium-driver >&2 ||
    fail "apt-get could not install chromium and chromium-driver"
  have_browser || fail "chromium and chromium-driver were installed, but are not in PATH: $PATH"
}

fetch_axe() {
  have npm || fail "axe-core is missing, and there is no npm to fetch it: install npm, or put axe.min.js of axe-core $AXE_VERSION at $axe"
  say "fetching axe-core $AXE_VERSION"
  mkdir -p "$cache"
  # Inside the cache, so that the last step is a rename: whoever reads the file sees all of it.
  local work
  work="$(mktemp -d "$cache/fetch.XXXXXX")"
  # shellcheck disable=SC2064 # the folder is named now: the variable is gone at the exit
  trap "rm -rf '$work'" EXIT
  (cd "$work" && npm pack --silent "axe-core@$AXE_VERSION" >/dev/null) ||
    fail "npm could not fetch axe-core@$AXE_VERSION"
  tar -xzf "$work/axe-core-$AXE_VERSION.tgz" -C "$work" package/axe.min.js
  axe_is_right "$work/package/axe.min.js" ||
    fail "axe.min.js of axe-core $AXE_VERSION does not have the checksum $AXE_SHA256"
  mv "$work/package/axe.min.js" "$axe"
}

[ "${LIKEN_NO_BROWSER:-}" = 1 ] && exit 0
have_browser || install_browser
axe_is_right "$axe" || fetch_axe
