"""Text must fit its box, and nothing may be lost without a sign."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.cli.graph.text import shorten, text_width, wrap


def test_text_that_fits_is_left_alone() -> None:
    assert shorten("orders", 10, 200) == "orders"
    assert wrap("id, name", 10, 200, 3) == ["id, name"]


def test_shortened_text_ends_in_an_ellipsis_and_fits() -> None:
    short = shorten("a rather long description of a projection", 10, 80)
    assert short.endswith("…")
    assert text_width(short, 10) <= 80


def test_a_word_longer_than_the_line_is_broken_not_lost() -> None:
    lines = wrap("x" * 60, 10, 100, 10)
    assert len(lines) > 1
    assert "".join(lines) == "x" * 60


def test_what_exceeds_the_last_line_is_marked() -> None:
    assert wrap("one two three four five six", 10, 50, 2)[-1].endswith("…")


def test_empty_text_needs_no_line() -> None:
    assert wrap("", 10, 100, 3) == []


@pytest.mark.parametrize(
    ("text", "regular", "bold"),
    [("partial aggregate", 87.0, 98.9), ("start_station IS NOT NULL", 128.9, 146.1), ("…", 10.0, 10.0)],
)
def test_text_is_as_wide_as_in_the_widest_common_face(text: str, regular: float, bold: float) -> None:
    """Widths in DejaVu Sans at 10 pixels, as a browser measures them; never less is reckoned with."""
    assert regular <= text_width(text, 10) < regular * 1.03
    assert bold <= text_width(text, 10, bold=True) < bold * 1.03


@given(st.text(max_size=200), st.integers(1, 4))
def test_no_line_is_ever_wider_than_the_box(text: str, lines_max: int) -> None:
    lines = wrap(text, 10, 120, lines_max)
    assert len(lines) <= lines_max
    assert all(text_width(line, 10) <= 120 for line in lines)


@pytest.mark.parametrize("width", [1, 5, 12])
def test_a_box_narrower_than_a_letter_does_not_hang(width: int) -> None:
    assert len(wrap("wide words", 10, width, 3)) <= 3
