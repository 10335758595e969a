"""Routes: what a message belongs to, and that it still does on the other side."""

from __future__ import annotations

import pyarrow as pa
import pytest

from penstock.schedule.message import (
    FILE_LEVEL,
    AlongEdge,
    Answer,
    InputFiles,
    Message,
    PushedRows,
    Route,
    first_level,
    parse_route,
)

ROUTES: list[Route] = [
    AlongEdge(0),
    AlongEdge(3_000_000),
    PushedRows(0),
    PushedRows(7),
    InputFiles(0),
    Answer(),
]


@pytest.mark.parametrize("route", ROUTES, ids=str)
def test_a_route_arrives_as_it_was_sent(route: Route) -> None:
    assert parse_route(str(route)) == route
    assert [other for other in ROUTES if other == route] == [route]


@pytest.mark.parametrize("text", ["", "edge", "edge:x", "3", "table:3"])
def test_what_is_no_route_is_not_taken_for_one(text: str) -> None:
    with pytest.raises(ValueError):
        parse_route(text)


def test_a_step_starts_with_files_if_it_has_any() -> None:
    rows = pa.record_batch({"n": [1]})
    assert first_level([]) == first_level([Message(PushedRows(1), 0, rows)]) == 0
    assert first_level([Message(PushedRows(1), 0, rows), Message(InputFiles(2), 1, rows)]) == FILE_LEVEL
