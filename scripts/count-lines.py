#!/usr/bin/env python3
"""Counts lines of Rust per crate and per top-level module: production code, and tests.

    scripts/count-lines.py                a table for the working tree
    scripts/count-lines.py --json         the same for programs
    scripts/count-lines.py > docs/lines.txt

Production is what a user of the program compiles. Tests are tests/ folders, files called tests.rs,
*_tests.rs and fixture.rs (with the folders that belong to them), and everything under #[cfg(test)],
be it a module in place, a module in a file of its own, or a single item. Examples and benches are
counted apart. A line is code if it holds anything but white space and comments, a comment if it holds
a comment alone (also documentation), and blank otherwise.

Crates are the folders with a Cargo.toml that names a package, wherever they lie, so crates may come
and go.
"""

import argparse
import json
import re
import subprocess
import sys
from collections import defaultdict
from datetime import date
from pathlib import Path

SKIPPED_FOLDERS = {"target", ".git", ".venv", "node_modules"}
KINDS = ("production", "tests", "examples")
CLASSES = ("code", "comment", "blank")

# Comments, strings and characters; a lifetime ('a without a closing quote) is none of them.
TOKEN = re.compile(
    r"""
      (?P<line>//[^\n]*)
    | (?P<block>/\*)
    | (?P<raw>\b(?:b|c|br|cr)?r(?P<hashes>\#*)")
    | (?P<string>\b[bc]?"|")
    | (?P<char>b?'(?:\\(?:x[0-9a-fA-F]{2}|u\{[^}]*\}|.)|[^\\'\n])')
    """,
    re.VERBOSE | re.DOTALL,
)
STRING_REST = re.compile(r'(?:[^"\\]|\\.)*"', re.DOTALL)
BLOCK_EDGE = re.compile(r"/\*|\*/")
CFG_TEST = re.compile(r"#(?P<inner>!?)\[cfg\((?:test|all\(test\b[^\]]*)\)\]")
MODULE = re.compile(r"(?:pub(?:\([^)]*\))?\s+)?mod\s+(?:r#)?(\w+)\s*;")
PATH_ATTRIBUTE = re.compile(r'#\[path\s*=\s*"([^"]+)"\]')


def blanked(text, start, end, filler):
    """The piece of `text` with every character but line ends replaced by `filler`."""
    return "".join("\n" if c == "\n" else filler for c in text[start:end])


def masked(text):
    """The text twice: without comments and with strings as `~`, and comments alone as `~`."""
    code, comments, at = [], [], 0
    while match := TOKEN.search(text, at):
        code.append(text[at : match.start()])
        comments.append(blanked(text, at, match.start(), " "))
        start, end, is_comment = match.start(), match.end(), False
        if match["line"] is not None:
            is_comment = True
        elif match["block"] is not None:
            is_comment, depth = True, 1
            while depth and (edge := BLOCK_EDGE.search(text, end)):
                depth += 1 if edge[0] == "/*" else -1
                end = edge.end()
            if depth:
                end = len(text)
        elif match["raw"] is not None:
            close = text.find('"' + match["hashes"], end)
            end = len(text) if close < 0 else close + 1 + len(match["hashes"])
        elif match["string"] is not None:
            rest = STRING_REST.match(text, end)
            end = rest.end() if rest else len(text)
        code.append(blanked(text, start, end, " " if is_comment else "~"))
        comments.append(blanked(text, start, end, "~" if is_comment else " "))
        at = end
    code.append(text[at:])
    comments.append(blanked(text, at, len(text), " "))
    return "".join(code), "".join(comments)


def item_end(code, at):
    """Where the item that begins at `at` (with its attributes) ends."""
    depth, braces = 0, {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}
    attribute = None
    while at < len(code):
        c = code[at]
        if c == "#" and depth == 0 and code[at : at + 2] == "#[":
            attribute = 0
        if c in braces:
            depth += braces[c]
            if depth < 0:
                return at
            if depth == 0 and c == "]" and attribute is not None:
                attribute = None
            elif depth == 0 and c == "}":
                return at + 1
        elif c == ";" and depth == 0:
            return at + 1
        elif c == "," and depth == 0 and attribute is None:
            # A field, a variant or an argument.
            return at + 1
        at += 1
    return at


class Source:
    """A file: its lines by class, which of them are tests, and the test modules it names."""

    def __init__(self, path):
        text = path.read_text(encoding="utf-8")
        code, comments = masked(text)
        self.classes = [
            "code" if c.strip() else "comment" if m.strip() else "blank"
            for c, m in zip(code.split("\n"), comments.split("\n"))
        ]
        if text.endswith("\n") or not text:
            self.classes.pop()
        self.is_test = [False] * len(self.classes)
        self.whole = False
        self.modules = []
        for match in CFG_TEST.finditer(code):
            if match["inner"]:
                self.whole = True
                continue
            end = item_end(code, match.end())
            first, last = code.count("\n", 0, match.start()), code.count("\n", 0, end)
            for line in range(first, min(last + 1, len(self.is_test))):
                self.is_test[line] = True
            if module := MODULE.search(code, match.end(), end):
                named = PATH_ATTRIBUTE.search(text, match.start(), end)
                self.modules += module_files(path, module[1], named and named[1])


def module_files(path, name, named):
    """The file and the folder of `mod name;` in the file `path`."""
    if named:
        return [path.parent / named]
    own = path.parent if path.stem in ("mod", "lib", "main") else path.with_suffix("")
    return [own / f"{name}.rs", own / name]


def kind_by_name(relative):
    """What a file of a crate is by its name alone."""
    parts = relative.parts
    if parts[0] in ("examples", "benches"):
        return "examples"
    stem = relative.stem
    if "tests" in parts[:-1] or "fixture" in parts[:-1] or "fixtures" in parts[:-1]:
        return "tests"
    if stem in ("tests", "fixture", "fixtures") or stem.endswith("_tests"):
        return "tests"
    return "production"


def module_of(relative):
    """The top-level module that a production file belongs to."""
    parts = relative.parts
    if parts[0] != "src":
        return relative.stem
    return parts[1] if len(parts) > 2 else relative.stem


def rust_files(crate, crates):
    """The Rust files of a crate, not of crates within it."""
    others = {other for other in crates if other != crate}

    def walk(folder):
        for path in sorted(folder.iterdir()):
            if path.is_dir():
                if path.name not in SKIPPED_FOLDERS and path not in others:
                    yield from walk(path)
            elif path.suffix == ".rs":
                yield path

    yield from walk(crate)


def find_crates(root):
    """Folders with a package, with its name."""
    crates = {}

    def walk(folder):
        manifest = folder / "Cargo.toml"
        if manifest.is_file():
            package = re.search(
                r'^\[package\](?:(?!^\[).)*?^name\s*=\s*"([^"]+)"',
                manifest.read_text(encoding="utf-8"),
                re.MULTILINE | re.DOTALL,
            )
            if package:
                crates[folder] = package[1]
        for path in sorted(folder.iterdir()):
            if path.is_dir() and path.name not in SKIPPED_FOLDERS:
                walk(path)

    walk(root)
    return crates


def count(crate, crates):
    """Lines of a crate: kind, then module, then class."""
    sources = {path: Source(path) for path in rust_files(crate, crates)}
    test_paths = {path for source in sources.values() for path in source.modules}
    lines = {kind: defaultdict(lambda: defaultdict(int)) for kind in KINDS}
    for path, source in sources.items():
        relative = path.relative_to(crate)
        kind = kind_by_name(relative)
        if kind == "production" and (
            source.whole or not test_paths.isdisjoint([path, *path.parents])
        ):
            kind = "tests"
        module = module_of(relative)
        for line_class, is_test in zip(source.classes, source.is_test):
            lines["tests" if is_test and kind == "production" else kind][module][line_class] += 1
    return lines


def total(modules):
    """The sum over modules, by class."""
    return {name: sum(module[name] for module in modules.values()) for name in CLASSES}


def commit_of(root):
    """The commit of the working tree, and whether files differ from it."""

    def git(*args):
        done = subprocess.run(["git", "-C", str(root), *args], capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""

    commit = git("log", "-1", "--format=%h %ad", "--date=short")
    changed = git("status", "--porcelain", "--untracked-files=no", "--", "*.rs")
    return (commit or "unknown") + (" with changes" if changed else "")


def row(name, counts):
    cells = [counts["code"], counts["comment"], counts["blank"], sum(counts.values())]
    return f"{name:<34}" + "".join(f"{cell:>10,}" for cell in cells)


def print_table(counted, root):
    print(f"Lines of Rust on {date.today().isoformat()}, commit {commit_of(root)}")
    print("(scripts/count-lines.py)\n")
    head = f"{'':<34}" + "".join(f"{name:>10}" for name in (*CLASSES, "all"))
    print(f"production, by crate and module\n{head}")
    for name, lines in counted.items():
        print(row(name, total(lines["production"])))
        modules = lines["production"].items()
        for module, counts in sorted(modules, key=lambda m: -sum(m[1].values())):
            print(row(f"  {module}", {c: counts[c] for c in CLASSES}))
    print(f"\nby crate\n{head}")
    for kind in KINDS:
        sums = {name: total(lines[kind]) for name, lines in counted.items()}
        for name, counts in sums.items():
            if sum(counts.values()):
                print(row(f"{kind} {name}", counts))
        print(row(f"{kind}, all", {c: sum(s[c] for s in sums.values()) for c in CLASSES}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args()
    root = args.root.resolve()
    crates = find_crates(root)
    if not crates:
        sys.exit(f"{root}: holds no Cargo.toml of a package")
    counted = {name: count(folder, crates) for folder, name in crates.items()}
    if args.json:
        json.dump(counted, sys.stdout, indent=1)
        print()
    else:
        print_table(counted, root)


if __name__ == "__main__":
    main()
