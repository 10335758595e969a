"""docs/sql-coverage.md tells of the code and the tests as they are. Needs no Spark: it is made with it."""

from __future__ import annotations

import re

from scripts.sql_coverage import document
from scripts.sql_coverage.evidence import fixtures, mentions
from scripts.sql_coverage.inventory import NOT_YET, REFUSED_BY_NATURE, SUPPORTED

TEXT = document.PATH.read_text(encoding="utf-8")
ENTRIES, MADE_WITH = document.read(TEXT)
STALE = "docs/sql-coverage.md is not of this code: run make sql-coverage"


def test_the_document_was_made_by_the_functions_that_are_declared() -> None:
    assert document.fingerprint() == MADE_WITH, STALE


def test_every_proof_is_a_test_that_uses_the_function() -> None:
    texts: dict[str, list[str]] = {}
    for fixture in fixtures():
        texts.setdefault(fixture.test, []).append(fixture.sql)
    for entry in ENTRIES:
        if entry.status == SUPPORTED:
            assert any(mentions(entry.name, sql) for sql in texts.get(entry.why, [])), f"{STALE} ({entry})"


def test_what_is_not_supported_has_a_reason() -> None:
    assert all(entry.why for entry in ENTRIES)
    assert {entry.status for entry in ENTRIES} == {SUPPORTED, REFUSED_BY_NATURE, NOT_YET}


def test_the_counts_at_the_top_are_those_of_the_rows() -> None:
    counts = {status: sum(entry.status == status for entry in ENTRIES) for status in (SUPPORTED, NOT_YET)}
    top = re.search(r"lists (\d+) functions and operators: \*\*(\d+) supported\*\*.* (\d+) not yet\.", TEXT)
    assert top is not None
    assert [int(number) for number in top.groups()] == [len(ENTRIES), counts[SUPPORTED], counts[NOT_YET]]
    assert counts[SUPPORTED] >= 350
