"""Aggregates a synthetic raw log within a limit on memory, beside GNU sort.

The log (`liken synth one-week --events`) is imported with `--max-memory`, and again without a
limit; both datasets must be the same, byte for byte. The peer only sorts the lines by query and
document, with as much memory: what every tool for such logs does at the least.

    python3 bench/events.py [SCALE] [LIMIT_MIB]     default: 1.4 (about 1 GiB) and 256
"""

import filecmp
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIKEN = Path(__file__).resolve().parent.parent / "target" / "release" / "liken"


def run(*command, **options):
    """Seconds and the peak of resident memory in MiB of a child."""
    start = time.perf_counter()
    child = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, **options)
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"failed: {' '.join(map(str, command))}")
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def main():
    scale = sys.argv[1] if len(sys.argv) > 1 else "1.4"
    limit = sys.argv[2] if len(sys.argv) > 2 else "256"
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        run(LIKEN, "synth", "one-week", "--events", "--scale", scale, "-o", folder / "raw")
        events = folder / "raw" / "events.tsv"
        size = events.stat().st_size / 2**30
        tables = ["--events", events]
        for name in ["documents.jsonl", "judgments.tsv"]:
            tables += [f"--{name.split('.')[0]}", folder / "raw" / name]
        bounded = run(LIKEN, "import", *tables, "--max-memory", f"{limit}MiB", "-o", folder / "bounded")
        free = run(LIKEN, "import", *tables, "-o", folder / "free")
        sort = run(
            "sort", "-S", f"{limit}M", "--parallel=2", "-T", folder, "-t", "\t", "-k4,5",
            "-o", folder / "sorted.tsv", events, env={**os.environ, "LC_ALL": "C"},
        )
        names = sorted(path.name for path in (folder / "free").iterdir())
        if filecmp.cmpfiles(folder / "bounded", folder / "free", names, shallow=False)[0] != names:
            sys.exit("the datasets differ")
    print(f"log of {size:.2f} GiB; the datasets are the same, byte for byte")
    for name, (seconds, peak) in [
        (f"liken import, limit {limit} MiB", bounded),
        ("liken import, no limit", free),
        (f"GNU sort alone, {limit} MiB", sort),
    ]:
        print(f"{name:32} {seconds:7.1f} s   peak {peak:6.0f} MiB   sort / this {sort[0] / seconds:.2f}")


if __name__ == "__main__":
    main()
