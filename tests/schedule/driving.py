"""Taking workers through steps of the shop, and looking at what came out."""

from __future__ import annotations

import struct
from typing import Any

import pyarrow as pa

from penstock.circuit.program import Program
from penstock.schedule.opening import Opening
from tests.schedule.inline import Resident, filling, opening_of, zset_of
from tests.schedule.shop import EXPECTED, Shop, program

PROGRAM = program()


def opened(kind: type[Resident], workers: int, of: Program = PROGRAM) -> Resident:
    """Workers over empty tables, after the step that opens everything."""
    crew = kind(of, workers)
    crew.open(filling(Opening(), of))
    run(crew, 0, None)
    return crew


def run(crew: Resident, step: int, inputs: Any) -> list[dict[str, Any]]:
    """One accepted step (for staged workers: a committed one)."""
    reports = crew.step(step, inputs.messages(crew.program, crew.layout) if inputs is not None else [])
    crew.accept()
    if crew.commits_every_step:
        crew.committed(opening_of(crew.program, crew.commit(step + 1), step + 1))
    return reports


def check(crew: Resident, shop: Shop) -> None:
    for name in EXPECTED:
        assert zset_of(crew.read(name)) == shop.contents(name), name


def bits(table: pa.Table) -> list[str]:
    """The rows of a view, each as often as its weight, with doubles as their bits."""

    def text(value: Any) -> str:
        return struct.pack(">d", value).hex() if isinstance(value, float) else repr(value)

    totals: dict[tuple[str, ...], int] = {}
    for *row, weight in zip(*(column.to_pylist() for column in table.columns), strict=True):
        key = tuple(map(text, row))
        totals[key] = totals.get(key, 0) + weight
    return sorted(str((row, weight)) for row, weight in totals.items() if weight)
