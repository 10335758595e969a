"""The document: counts at the top, then every function with the test that proves it or the reason against it.

The last line holds a fingerprint of what the code declares, so that a test without Spark can tell when the
document was made by other code.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence

from penstock.expr.functions import names
from penstock.sql.aggregate_functions import AGGREGATES, REFUSED
from penstock.sql.refusals import NOT_REPEATABLE
from scripts.sql_coverage.evidence import ROOT
from scripts.sql_coverage.inventory import NOT_YET, REFUSED_BY_NATURE, SUPPORTED, Entry

__all__ = ["PATH", "fingerprint", "read", "write"]

PATH = ROOT / "docs" / "sql-coverage.md"
_ROW = re.compile(r"^\| `(?P<name>.+?)` \| (?P<status>\S[^|]*?) \| (?P<why>.*) \|$")
_HEADINGS = {
    "agg_funcs": "Aggregates",
    "array_funcs": "Arrays",
    "avro_funcs": "Avro",
    "bitwise_funcs": "Bits",
    "collection_funcs": "Collections",
    "conditional_funcs": "Conditions",
    "conversion_funcs": "Conversions",
    "csv_funcs": "CSV",
    "datetime_funcs": "Dates and times",
    "generator_funcs": "Generators",
    "hash_funcs": "Hashes",
    "json_funcs": "JSON",
    "lambda_funcs": "Lambda functions",
    "map_funcs": "Maps",
    "math_funcs": "Mathematics",
    "misc_funcs": "Others",
    "operators": "Operators without an entry in Spark's list",
    "predicate_funcs": "Predicates",
    "protobuf_funcs": "Protocol buffers",
    "sketch_funcs": "Sketches",
    "st_funcs": "Geometry",
    "string_funcs": "Strings",
    "struct_funcs": "Structs",
    "table_funcs": "Table functions",
    "url_funcs": "Addresses",
    "variant_funcs": "Variants",
    "vector_funcs": "Vectors",
    "window_funcs": "Windows",
    "xml_funcs": "XML",
}


def fingerprint() -> str:
    """Changes with the functions, aggregates and refusals that the code declares."""
    declared = [*names(), *sorted(AGGREGATES), *sorted(REFUSED), *sorted(NOT_REPEATABLE)]
    return hashlib.sha256("\n".join(declared).encode()).hexdigest()[:16]


def write(entries: Sequence[Entry], version: str) -> str:
    """The text of the document."""
    counts = Counter(entry.status for entry in entries)
    lines = [
        "# SQL functions",
        "",
        "Made by `make sql-coverage` from Spark's `SHOW FUNCTIONS`; do not edit it. A function is",
        "*supported* if a test compares it with Spark, on edge cases and random rows, and the planner takes",
        "that test's query. It is *refused* by nature if its value may differ each time it is computed over",
        "the same tables, if it cannot be kept up to date, or if Spark itself refuses it as it comes. The",
        "others are *not yet* there.",
        "",
        f"Spark {version} lists {len(entries)} functions and operators: **{counts[SUPPORTED]} supported**, "
        f"{counts[REFUSED_BY_NATURE]} refused by nature, {counts[NOT_YET]} not yet.",
        "",
        "| group | supported | refused | not yet |",
        "|---|---|---|---|",
    ]
    groups = sorted({entry.group for entry in entries}, key=_heading)
    for group in groups:
        inside = Counter(entry.status for entry in entries if entry.group == group)
        lines.append(
            f"| {_heading(group)} | {inside[SUPPORTED]} | {inside[REFUSED_BY_NATURE]} | {inside[NOT_YET]} |"
        )
    for group in groups:
        lines += ["", f"## {_heading(group)}", "", "| function | | test or reason |", "|---|---|---|"]
        lines += [
            f"| `{_escaped(entry.name)}` | {entry.status} | {_escaped(entry.why)} |"
            for entry in sorted(entries, key=lambda entry: entry.name)
            if entry.group == group
        ]
    return "\n".join([*lines, "", f"<!-- declared: {fingerprint()} -->", ""])


def read(text: str) -> tuple[list[Entry], str]:
    """The entries of a document (without their groups), and the fingerprint it was made with."""
    found = [match for line in text.splitlines() if (match := _ROW.match(line))]
    entries = [Entry(_plain(match["name"]), "", match["status"], _plain(match["why"])) for match in found]
    made_with = re.search(r"<!-- declared: (\w+) -->", text)
    return entries, made_with[1] if made_with else ""


def _heading(group: str) -> str:
    return _HEADINGS.get(group, group)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


def _plain(text: str) -> str:
    return text.replace("\\|", "|")
