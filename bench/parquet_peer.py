"""Checks liken's reader of Parquet against files of pyarrow, DuckDB and polars.

Each writes one table with a column of every kind that liken reads and lists of each, with missing values,
empty lists and missing items: pyarrow in every version of the format, with every codec and encoding, with
and without dictionaries, with small pages and several row groups. liken imports each file as documents and
exports them as JSON lines, and every value of every row must come back exactly: decimals as numbers if they
have at most 15 digits or are integers of 64 bits, else as numbers or text. A difference ends the run with exit code 1.

The file that the tests of the command line read is written by --fixture PATH.

Usage: .venv/bin/python bench/parquet_peer.py [rows]
"""

import datetime as dt
import decimal
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import uuid
from decimal import Decimal
from pathlib import Path

import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
LIKEN = Path(os.environ.get("LIKEN_BINARY", TARGET / "release" / "liken"))
ROWS = 3000
decimal.getcontext().prec = 200
EPOCH = dt.datetime(1970, 1, 1)
WORDS = ["", "a", "ä ö", "two words", "\"quoted\"\n", "日本", "x" * 300]


def draw_decimal(draw, digits, scale):
    """Numbers of any size, also the least and the greatest."""
    top = 10**digits - 1
    number = draw.choice([0, 1, -1, top, -top, draw.randint(-top, top), draw.randint(-9999, 9999)])
    return Decimal(number).scaleb(-scale)


def single(number):
    return struct.unpack("f", struct.pack("f", number))[0]


def half(number):
    return struct.unpack("e", struct.pack("e", number))[0]


def a_float(draw):
    return draw.choice([0.0, 0.1, -12.5, 12.0, 1e-7, draw.random() * 1000])


def moment(draw):
    return EPOCH + dt.timedelta(microseconds=draw.randint(-10**15, 4 * 10**15))


# By name: the type of pyarrow, and a function that draws a value.
KINDS = {
    "string": (pa.string(), lambda draw: draw.choice(WORDS)),
    "bytes": (pa.binary(), lambda draw: draw.choice(WORDS).encode()),
    "truth": (pa.bool_(), lambda draw: draw.random() < 0.5),
    "int8": (pa.int8(), lambda draw: draw.randint(-128, 127)),
    "uint16": (pa.uint16(), lambda draw: draw.randint(0, 2**16 - 1)),
    "int32": (pa.int32(), lambda draw: draw.randint(-(2**31), 2**31 - 1)),
    "uint32": (pa.uint32(), lambda draw: draw.randint(0, 2**32 - 1)),
    "int64": (pa.int64(), lambda draw: draw.choice([-(2**63), 2**63 - 1, draw.randint(0, 40)])),
    "uint64": (pa.uint64(), lambda draw: draw.choice([2**64 - 1, draw.randint(0, 40)])),
    "half": (pa.float16(), lambda draw: half(draw.choice([0.1, 65504, -2, 6e-8]))),
    "single": (pa.float32(), lambda draw: single(a_float(draw))),
    "double": (pa.float64(), a_float),
    "day": (pa.date32(), lambda draw: moment(draw).date()),
    "clock": (pa.time64("us"), lambda draw: moment(draw).time()),
    "clock_ms": (pa.time32("ms"), lambda draw: moment(draw).time().replace(microsecond=5000)),
    "moment": (pa.timestamp("us"), moment),
    "moment_ms": (pa.timestamp("ms", tz="UTC"), lambda draw: moment(draw).replace(microsecond=5000)),
    "count": (pa.decimal128(38, 0), lambda draw: draw_decimal(draw, 38, 0)),
    "clicks": (pa.decimal128(38, 0), lambda draw: Decimal(draw.randint(0, 40))),
    "cents": (pa.decimal128(9, 2), lambda draw: draw_decimal(draw, 9, 2)),
    "euros": (pa.decimal128(18, 4), lambda draw: draw_decimal(draw, 18, 4)),
    "share": (pa.decimal128(38, 38), lambda draw: draw_decimal(draw, 38, 38)),
    "price": (pa.decimal128(38, 9), lambda draw: draw_decimal(draw, 38, 9)),
    "wide": (pa.decimal256(76, 38), lambda draw: draw_decimal(draw, 76, 38)),
}


def table(draw, rows, kinds):
    """The values by column: one of each kind, one without missing values, and lists."""
    columns = {}
    for name, (_, of) in kinds.items():
        few = [of(draw) for _ in range(40)]
        some = lambda: draw.choice(few) if draw.random() < 0.5 else of(draw)
        or_none = lambda: None if draw.random() < 0.2 else some()
        columns[name] = [or_none() for _ in range(rows)]
        columns[f"all_{name}"] = [some() for _ in range(rows)]
        lists = [[or_none() for _ in range(draw.choice([0, 1, 1, 2, 5]))] for _ in range(rows)]
        columns[f"lists_{name}"] = [None if draw.random() < 0.2 else items for items in lists]
    # One list that is longer than a batch, and a page.
    columns["lists_int32"][rows // 2] = list(range(5000))
    return columns


def expected(value):
    """How liken shows a value."""
    if isinstance(value, list):
        return [expected(item) for item in value]
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, dt.datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(value, dt.time):
        return value.strftime("%H:%M:%S")
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    return value


def same(found, value, kind):
    if isinstance(value, list):
        return (isinstance(found, list) and len(found) == len(value)
                and all(same(*pair, kind) for pair in zip(found, value)))
    if value is None or isinstance(value, (bool, str, bytes, dt.date, dt.time, uuid.UUID)):
        return type(found) is type(expected(value)) and found == expected(value)
    if isinstance(value, Decimal):
        digits = len(value.normalize().as_tuple().digits)
        fits = digits <= 15 or (value == int(value) and -(2**63) <= value < 2**64)
        return Decimal(str(found)) == value and not (fits and isinstance(found, str))
    if kind == "single":
        return single(float(found)) == value and len(str(found)) <= len(repr(value))
    if isinstance(value, float):
        return float(found) == value
    return isinstance(found, int) and found == value


def run(*words):
    done = subprocess.run([LIKEN, *map(str, words)], capture_output=True, text=True)
    if done.returncode or "panicked" in done.stderr:
        sys.exit(f"{' '.join(map(str, words))}:\n{done.stdout}{done.stderr}")


def check(name, path, columns, folder):
    """Imports the file at `path`, exports it and compares all values."""
    rows = len(next(iter(columns.values())))
    clicks = folder / "clicks.tsv"
    clicks.write_text("query\tdoc\tclicks\nq\td0\t9\n")
    data, out = folder / "data", folder / "out"
    run("import", "--clicks", clicks, "--documents", path, "--validation", 0, "--test", 0, "-o", data, "--force")
    run("export", data, "--format", "tsv", "-o", out, "--force")
    compared, documents = 0, {}
    for line in open(out / "documents.jsonl", encoding="utf-8"):
        document = json.loads(line, parse_float=Decimal)
        documents[document["id"]] = document
    if len(documents) != rows:
        sys.exit(f"{name}: {len(documents)} documents, expected {rows}")
    for column, values in columns.items():
        kind = column.removeprefix("all_").removeprefix("lists_")
        for i, value in enumerate(values):
            found = documents[f"d{i}"].get(column)
            if not same(found, value, kind):
                sys.exit(f"{name}, d{i}, {column}: found {found!r}, expected {expected(value)!r}")
            compared += 1
    print(f"{name:<58}{path.stat().st_size / 1e6:6.1f} MB{compared:10,} values the same", flush=True)


def arrow_table(columns, kinds, large=False):
    arrays = {"id": pa.array([f"d{i}" for i in range(len(next(iter(columns.values()))))])}
    for name, values in columns.items():
        of = kinds[name.removeprefix("all_").removeprefix("lists_")][0]
        lists = pa.large_list(of) if large else pa.list_(of)
        arrays[name] = pa.array(values, lists if name.startswith("lists_") else of)
    arrays["nothing"] = pa.nulls(len(arrays["id"]))
    return pa.table(arrays)


def with_arrow(columns, folder):
    plain = arrow_table(columns, KINDS)
    # Columns whose values are never missing are marked as such.
    plain = plain.cast(pa.schema([
        field.with_nullable(False) if field.name.startswith("all_") else field for field in plain.schema
    ]))
    base = {"row_group_size": 1700, "data_page_size": 2000, "write_batch_size": 64, "store_schema": False}
    delta = {}
    for name in plain.column_names:
        kind = name.removeprefix("all_").removeprefix("lists_")
        of = KINDS[kind][0] if kind in KINDS else pa.string()
        path = f"{name}.list.element" if name.startswith("lists_") else name
        if name == "nothing":
            continue
        if pa.types.is_string(of) or pa.types.is_binary(of):
            delta[path] = "DELTA_BYTE_ARRAY" if name.startswith("all_") else "DELTA_LENGTH_BYTE_ARRAY"
        elif pa.types.is_floating(of) or pa.types.is_decimal(of):
            delta[path] = "BYTE_STREAM_SPLIT"
        elif not pa.types.is_boolean(of):
            delta[path] = "DELTA_BINARY_PACKED"
    cases = {
        "version 1.0, snappy": {"version": "1.0", "compression": "snappy"},
        "version 2.6, zstd": {"version": "2.6", "compression": "zstd"},
        "version 2.6, lz4": {"version": "2.6", "compression": "lz4"},
        "pages 2.0, gzip": {"data_page_version": "2.0", "compression": "gzip"},
        "pages 2.0, uncompressed": {"data_page_version": "2.0", "compression": "none"},
        "no dictionaries": {"use_dictionary": False},
        "no dictionaries, pages 2.0": {"use_dictionary": False, "data_page_version": "2.0"},
        "other encodings": {"use_dictionary": False, "column_encoding": delta},
        "other encodings, pages 2.0": {
            "use_dictionary": False, "column_encoding": delta, "data_page_version": "2.0"},
        "decimals as integers": {"store_decimal_as_integer": True},
        "lists of item": {"use_compliant_nested_type": False},
        "a row group, big pages": {"row_group_size": 1 << 20, "data_page_size": 1 << 20},
    }
    for name, more in cases.items():
        path = folder / "arrow.parquet"
        pq.write_table(plain, path, **(base | more))
        check(f"pyarrow {pa.__version__}, {name}", path, columns, folder)
    # INT96, as Spark used to write it.
    moments = {name: values for name, values in columns.items() if name.endswith("moment")}
    path = folder / "int96.parquet"
    pq.write_table(arrow_table(moments, KINDS), path, use_deprecated_int96_timestamps=True)
    check(f"pyarrow {pa.__version__}, INT96", path, moments, folder)
    ids = [None if i % 5 == 0 else uuid.UUID(int=i * 2**97 + i) for i in range(500)]
    path = folder / "uuid.parquet"
    storage = pa.array([value and value.bytes for value in ids], pa.binary(16))
    array = pa.ExtensionArray.from_storage(pa.uuid(), storage)
    pq.write_table(pa.table({"id": [f"d{i}" for i in range(500)], "uuid": array}), path)
    check(f"pyarrow {pa.__version__}, UUID", path, {"uuid": ids}, folder)


def with_duckdb(columns, folder):
    # DuckDB has no half floats nor decimals of more than 38 digits.
    kept = {name: values for name, values in columns.items() if not name.endswith(("half", "wide"))}
    source = arrow_table(kept, KINDS)
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.register("source", source)
    for name, options in {
        "version 1, snappy": "PARQUET_VERSION v1",
        "version 2, zstd": "PARQUET_VERSION v2, COMPRESSION zstd",
        "version 1, row groups": "PARQUET_VERSION v1, ROW_GROUP_SIZE 2048",
    }.items():
        path = folder / "duckdb.parquet"
        path.unlink(missing_ok=True)
        # Its differences of numbers of 32 bits have 33, which the decoder refuses if they are that large.
        some = {name: values for name, values in kept.items() if "v1" in options or "int32" not in name}
        fields = "id, nothing, " + ", ".join(some)
        connection.execute(f"COPY (SELECT {fields} FROM source) TO '{path}' (FORMAT parquet, {options})")
        check(f"DuckDB {duckdb.__version__}, {name}", path, some, folder)
    # What a warehouse aggregates: DuckDB's sum of integers is a HUGEINT, here as NUMERIC(38, 0).
    path = folder / "aggregate.parquet"
    connection.execute(f"""COPY (SELECT 'd' || (i % 7) AS id, list(i ORDER BY i) AS lists_int64,
        sum(i)::DECIMAL(38, 0) AS clicks, uuid() IS NULL AS truth FROM range(100) t(i) GROUP BY i % 7)
        TO '{path}' (FORMAT parquet)""")
    groups = [list(range(n, 100, 7)) for n in range(7)]
    values = {
        "lists_int64": groups, "clicks": [Decimal(sum(group)) for group in groups], "truth": [False] * 7,
    }
    check(f"DuckDB {duckdb.__version__}, an aggregate", path, values, folder)


def with_polars(columns, folder):
    # polars has no half floats nor decimals of more than 38 digits.
    kept = {name: values for name, values in columns.items() if not name.endswith(("half", "wide"))}
    frame = polars.from_arrow(arrow_table(kept, KINDS, large=True))
    for name, options in {
        "zstd": {"compression": "zstd", "row_group_size": 1700},
        "snappy, small pages": {"compression": "snappy", "data_page_size": 2000},
    }.items():
        path = folder / "polars.parquet"
        frame.write_parquet(path, **options)
        check(f"polars {polars.__version__}, {name}", path, kept, folder)


def fixture(path):
    """A small table of documents and their clicks, as a warehouse writes them."""
    some = {
        "id": pa.array(["d1", "d2", "d3"]),
        "query": pa.array([["red", "shoes"], ["hats"], ["red", "hats"]], pa.list_(pa.string())),
        "clicks": pa.array([Decimal(12), Decimal(3), Decimal(7)], pa.decimal128(38, 0)),
        "weight": pa.array([Decimal("12.00"), Decimal("0.25"), Decimal("7.50")], pa.decimal128(10, 2)),
        "title": pa.array([["Red shoes", None, "size 40"], [], None], pa.list_(pa.string())),
        "prices": pa.array([[Decimal("49.90")], [Decimal("-1.00"), None], None],
                           pa.list_(pa.decimal128(20, 2))),
        "days": pa.array([None, [dt.date(2026, 11, 15)], []], pa.list_(pa.date32())),
        "total": pa.array([Decimal(10**37), Decimal(0), None], pa.decimal128(38, 0)),
    }
    pq.write_table(pa.table(some), path, store_schema=False, write_statistics=False)


def main():
    if sys.argv[1:2] == ["--fixture"]:
        return fixture(sys.argv[2])
    rows = int(sys.argv[1]) if sys.argv[1:] else ROWS
    columns = table(random.Random(1), rows, KINDS)
    with tempfile.TemporaryDirectory() as folder:
        for peer in (with_arrow, with_duckdb, with_polars):
            peer(columns, Path(folder))
    print("every value came back")


if __name__ == "__main__":
    main()
