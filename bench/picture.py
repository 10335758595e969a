"""Pictures of figures: a pure function from data (:mod:`bench.sketch`) to the text of an SVG."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from textwrap import wrap

from bench.canvas import COLOURS, FAINT, FONT, GOAL, GRID, INK, Axis, Sheet, number, text_width
from bench.sketch import Bars, Lines, Mark, Range, Ranges, Sketch, Stacks

__all__ = ["draw"]

_WIDTH, _ROW, _TOP, _BOTTOM, _RIGHT = 900, 24, 64, 48, 90
_TITLE, _LINE = 15, 20
_PALE = "#b9c6d2"


def draw(picture: Sketch) -> str:
    """The picture as SVG."""
    match picture:
        case Bars():
            return _bars(picture)
        case Lines():
            return _lines(picture)
        case Ranges():
            return _ranges(picture)
        case Stacks():
            return _stacks(picture)


def _page(
    title: str, labels: Sequence[str], rows: int, above: float = 0
) -> tuple[Sheet, float, float, float]:
    """A sheet with a title, room for labels at the left and for something ``above`` the rows; where labels
    end, and where rows begin and end."""
    sheet, top = _titled(title)
    top += above
    sheet.height = top + rows * _ROW + _BOTTOM
    left = max((text_width(label) for label in labels), default=0.0) + 24
    return sheet, left, top, top + rows * _ROW


def _titled(title: str) -> tuple[Sheet, float]:
    """A sheet with a title in as many lines as it needs, and where they leave off."""
    sheet = Sheet(_WIDTH, 0)
    lines = wrap(title, int((_WIDTH - 24) / text_width("n", _TITLE)))
    for row, line in enumerate(lines):
        sheet.text(12, 24 + row * _LINE, line, bold=True, size=_TITLE)
    return sheet, _TOP + max(0, len(lines) - 1) * _LINE


def _goals(sheet: Sheet, axis: Axis, marks: Sequence[Mark], top: float, bottom: float) -> None:
    """Upright lines. Names stand above; where two are close, the lower value's stands left of its line."""
    ordered = sorted(marks, key=lambda mark: mark.value)
    for place, mark in enumerate(ordered):
        x = axis.place(mark.value)
        sheet.line((x, top - 4), (x, bottom), GOAL, 1.5, dashed=True)
        after = axis.place(ordered[place + 1].value) if place + 1 < len(ordered) else _WIDTH
        fits = x + text_width(mark.label) + 8 < after
        sheet.text(x, top - 9, mark.label, anchor="start" if fits else "end", colour=GOAL)


def _bars(picture: Bars) -> str:
    sheet, left, top, bottom = _page(picture.title, [bar.label for bar in picture.bars], len(picture.bars))
    values = [*(bar.value for bar in picture.bars), *(mark.value for mark in picture.marks)]
    axis = Axis.around(values, left, _WIDTH - _RIGHT, log=picture.log)
    sheet.upright_grid(axis, top, bottom, picture.unit)
    base = axis.place(1.0) if picture.log and axis.low < 1 < axis.high else axis.start
    for row, bar in enumerate(picture.bars):
        y, end = top + row * _ROW, axis.place(bar.value)
        sheet.text(left - 10, y + 17, bar.label, anchor="end")
        sheet.box(min(base, end), y + 4, abs(end - base), _ROW - 8, COLOURS[0] if bar.good else COLOURS[1])
    _goals(sheet, axis, picture.marks, top, bottom)
    for row, bar in enumerate(picture.bars):
        beside = max(base, axis.place(bar.value)) + 6
        sheet.text(beside, top + row * _ROW + 17, number(bar.value))
    return sheet.svg(picture.title)


def _lines(picture: Lines) -> str:
    right = max(text_width(line.label) for line in picture.lines) + 44
    sheet, top = _titled(picture.title)
    left, bottom = 70.0, top + 276
    sheet.height = bottom + _BOTTOM + 12
    points = [point for line in picture.lines for point in line.points]
    x_axis = Axis.around([point[0] for point in points], left, _WIDTH - right, log=not picture.over_time)
    measured = () if picture.over_time else sorted({point[0] for point in points})
    values = [*(point[3] for point in points), *(mark.value for mark in picture.marks)]
    y_axis = Axis.around(values, bottom, top, log=False)
    sheet.upright_grid(x_axis, top, bottom, picture.x, measured)
    for tick in y_axis.ticks():
        sheet.line((left, y_axis.place(tick)), (_WIDTH - right, y_axis.place(tick)), GRID)
        sheet.text(left - 8, y_axis.place(tick) + 4, number(tick), anchor="end", colour=FAINT)
    sheet.text(12, top - 12, picture.y, colour=FAINT)
    ends = []
    for line, colour in zip(picture.lines, COLOURS, strict=False):
        above = [(x_axis.place(x), y_axis.place(high)) for x, _, _, high in line.points]
        below = [(x_axis.place(x), y_axis.place(low)) for x, _, low, _ in line.points]
        middle = [(x_axis.place(x), y_axis.place(value)) for x, value, _, _ in line.points]
        sheet.path([*above, *reversed(below)], colour, filled=True)
        sheet.path(middle, colour)
        for (x, y), point in () if picture.over_time else zip(middle, line.points, strict=True):
            sheet.dot(x, y, colour)
            highest = point[1] == max(other[1] for other in points if other[0] == point[0])
            sheet.text(x, y - 10 if highest else y + 20, number(point[1]), anchor="middle")
        ends.append((middle[-1][1], middle[-1][0], line.label, colour))
    for mark in picture.marks:
        y = y_axis.place(mark.value)
        sheet.line((left, y), (_WIDTH - right, y), GOAL, 1.5, dashed=True)
        sheet.text(left + 6, y - 6, mark.label, colour=GOAL)
    for y, (_, x, label, colour) in zip(_apart([end[0] for end in sorted(ends)]), sorted(ends), strict=True):
        sheet.text(x + 34, y + 4, label, colour=colour)
    return sheet.svg(picture.title)


def _apart(places: Sequence[float], least: float = FONT + 4) -> list[float]:
    """The same places in order, moved down where two would touch."""
    moved = list(places)
    for before, now in pairwise(range(len(moved))):
        moved[now] = max(moved[now], moved[before] + least)
    return moved


def _ranges(picture: Ranges) -> str:
    grouped: dict[str, list[tuple[str, Range]]] = {}
    for found in picture.ranges:
        group, colon, label = found.label.partition(": ")
        grouped.setdefault(group if colon else "", []).append((label if colon else found.label, found))
    headings = sum(bool(group) for group in grouped)
    labels = [label for group in grouped.values() for label, _ in group]
    sheet, left, top, bottom = _page(picture.title, labels, len(picture.ranges) + headings)
    ends = [value for found in picture.ranges for value in (found.p1, found.p99)]
    right = _WIDTH - text_width("p50 00.00 · p99 00.00") - 16
    axis = Axis.around([*ends, *(mark.value for mark in picture.marks)], left, right, log=True)
    sheet.upright_grid(axis, top, bottom, picture.unit)
    y = top
    for group, members in grouped.items():
        if group:
            sheet.text(12, y + 17, group, bold=True)
            y += _ROW
        for label, found in members:
            middle = y + _ROW / 2
            sheet.text(left - 10, y + 17, label, anchor="end")
            sheet.line((axis.place(found.p1), middle), (axis.place(found.p99), middle), COLOURS[0], 1.5)
            start, stop = axis.place(found.p10), axis.place(found.p90)
            sheet.box(start, y + 5, stop - start, _ROW - 10, _PALE)
            for value, colour in ((found.p50, INK), (found.p99, COLOURS[0])):
                sheet.line((axis.place(value), y + 4), (axis.place(value), y + _ROW - 4), colour, 2.5)
            sheet.text(right + 12, y + 17, f"p50 {number(found.p50)} · p99 {number(found.p99)}")
            y += _ROW
    _goals(sheet, axis, picture.marks, top, bottom)
    return sheet.svg(picture.title)


def _stacks(picture: Stacks) -> str:
    names = list(dict.fromkeys(name for stack in picture.stacks for name in stack.parts))
    above = _legend_rows(names) * _ROW
    labels = [stack.label for stack in picture.stacks]
    sheet, left, top, bottom = _page(picture.title, labels, len(labels), above)
    wholes = [sum(stack.parts.values()) for stack in picture.stacks]
    axis = Axis.around([*wholes, *(mark.value for mark in picture.marks)], left, _WIDTH - _RIGHT, log=False)
    _legend(sheet, names, top - above - _TOP + 40)
    sheet.upright_grid(axis, top, bottom, picture.unit)
    colours = {name: COLOURS[place % len(COLOURS)] for place, name in enumerate(names)}
    for row, stack in enumerate(picture.stacks):
        y, before = top + row * _ROW, 0.0
        sheet.text(left - 10, y + 17, stack.label, anchor="end")
        for name, value in stack.parts.items():
            start, stop = axis.place(before), axis.place(before + value)
            sheet.box(start, y + 4, stop - start, _ROW - 8, colours[name])
            before += value
    _goals(sheet, axis, picture.marks, top, bottom)
    for row, whole in enumerate(wholes):
        sheet.text(axis.place(whole) + 6, top + row * _ROW + 17, number(whole))
    return sheet.svg(picture.title)


def _placed_legend(names: Sequence[str]) -> list[tuple[float, int]]:
    """For each name its x and its row."""
    places, x, row = [], 12.0, 0
    for name in names:
        wide = text_width(name) + 40
        if x + wide > _WIDTH and x > 12:
            x, row = 12.0, row + 1
        places.append((x, row))
        x += wide
    return places


def _legend_rows(names: Sequence[str]) -> int:
    return _placed_legend(names)[-1][1] + 1 if names else 0


def _legend(sheet: Sheet, names: Sequence[str], top: float) -> None:
    for place, (name, (x, row)) in enumerate(zip(names, _placed_legend(names), strict=True)):
        y = top + row * _ROW
        sheet.box(x, y, 14, 14, COLOURS[place % len(COLOURS)])
        sheet.text(x + 20, y + 12, name)
