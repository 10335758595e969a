"""The demo must read well where somebody watches and where nobody does."""

from __future__ import annotations

import io
from decimal import Decimal

import pyarrow as pa
from rich.console import Console

from penstock.cli.console import arrow_table, sparkline
from penstock.cli.demo.display import Journal, Move, PlainLines, Watch, display_for


def _console(terminal: bool) -> tuple[Console, io.StringIO]:
    text = io.StringIO()
    return Console(file=text, force_terminal=terminal, width=100, color_system=None), text


def _journal(steps: int, done: int) -> Journal:
    journal = Journal(steps, ["sales", "revenue_by_city"], "revenue_by_city")
    for number in range(done):
        moves = [Move("Cork", Decimal(10), Decimal(12)), Move("Basel", Decimal(7), None)]
        journal.record(50, {"sales": 10, "revenue_by_city": 4}, 1.0 + number, moves, 1000)
    return journal


def test_pipes_get_plain_lines_and_terminals_a_panel() -> None:
    assert isinstance(display_for(_console(False)[0], _journal(1, 0)), PlainLines)
    assert isinstance(display_for(_console(True)[0], _journal(1, 0)), Watch)


def test_plain_lines_come_every_twenty_steps_and_at_the_end() -> None:
    console, text = _console(False)
    journal = Journal(45, ["sales"], "revenue_by_city")
    with display_for(console, journal) as display:
        for _ in range(45):
            journal.record(50, {"sales": 10}, 5.0, (), 1000)
            display.step()
    lines = text.getvalue().splitlines()
    assert [line.split()[1] for line in lines] == ["20/45", "40/45", "45/45"]
    assert "2,250 rows in" in lines[-1] and "450 rows changed" in lines[-1]


def test_the_panel_shows_progress_times_views_and_the_largest_changes_first() -> None:
    console, text = _console(True)
    with display_for(console, _journal(10, 5)):
        pass
    shown = text.getvalue()
    for expected in ("step 5 of 10", "p50 3.0 ms", "changed in sales", "1,000 rows in the tables"):
        assert expected in shown
    assert shown.index("Basel") < shown.index("Cork")
    assert "-7.00" in shown and "+2.00" in shown


def test_sparkline_shows_the_latest_values_and_survives_zeros() -> None:
    assert sparkline([9, 1, 2, 4, 8], 4) == "▁▂▄█"
    assert sparkline([0, 0], 4) == "▁▁"
    assert sparkline([], 4) == ""


def test_a_table_shows_nulls_and_says_what_it_left_out() -> None:
    console, text = _console(False)
    console.print(arrow_table(pa.table({"n": [None, *range(29)], "t": ["[red]"] * 30}), "view", rows_max=3))
    shown = text.getvalue()
    assert "NULL" in shown and "view: the first 3 of 30 rows" in shown and "[red]" in shown


def test_an_empty_table_says_so() -> None:
    console, text = _console(False)
    console.print(arrow_table(pa.table({"n": pa.array([], pa.int64())}), "view"))
    assert text.getvalue() == "view: 0 rows\n"
