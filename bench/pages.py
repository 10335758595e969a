"""Reports under ``docs/benchmarks``: for each benchmark its newest figures, a page, a picture; and an index.

``NAME.json`` holds what was measured; everything else is generated from it (``python -m bench pages``), so
pages always match the figures. File names are stable and pages show their date; older figures are in the
history of the repository.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench.bounds import BOUNDS
from bench.picture import draw
from bench.report import Result, result_from_json, result_to_json, shown
from bench.sketch import Sketch

__all__ = [
    "FOLDER",
    "Report",
    "index_page",
    "read_reports",
    "report_page",
    "tables",
    "write_pages",
    "write_report",
]

FOLDER = Path(__file__).parent.parent / "docs" / "benchmarks"

_INDEX_HEAD = """# Benchmarks

Anyone can repeat these measurements with `make bench`, or `python -m bench NAME` for one of them; `--write`
updates its report here. This page is generated from the JSON files next to it (`python -m bench pages`). Do
not compare figures of different dates or machines.
"""


@dataclass(frozen=True)
class Report:
    """One run of one benchmark: what it found, and where, when and how long it ran.

    ``load`` is the load average at the start and at the end."""

    benchmark: str
    about: str
    date: str
    seconds: float | None
    commit: str
    machine: Mapping[str, Any]
    versions: Mapping[str, str]
    load: Mapping[str, float] = field(default_factory=dict)
    results: Sequence[Result] = ()

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {**vars(self), "results": [result_to_json(result) for result in self.results]}

    @staticmethod
    def from_json(stored: Mapping[str, Any]) -> Report:
        """What :meth:`to_json` made."""
        return Report(**{**stored, "results": [result_from_json(result) for result in stored["results"]]})


def read_reports(folder: Path = FOLDER) -> list[Report]:
    """The newest report of every benchmark that has one, by name. Other JSON files are not ours."""
    stored = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    return [Report.from_json(found) for found in stored if "benchmark" in found]


def write_report(report: Report, folder: Path = FOLDER) -> Path:
    """Keeps the figures and writes all pages again; returns the benchmark's page."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(report.to_json(), indent=2, ensure_ascii=False)
    (folder / f"{report.benchmark}.json").write_text(text + "\n", encoding="utf-8")
    write_pages(folder)
    return folder / f"{report.benchmark}.md"


def write_pages(folder: Path = FOLDER) -> None:
    """Pages, pictures and index, from the figures that are there."""
    reports = read_reports(folder)
    for report in reports:
        for name, picture in pictures(report).items():
            (folder / name).write_text(picture, encoding="utf-8")
        (folder / f"{report.benchmark}.md").write_text(report_page(report), encoding="utf-8")
    (folder / "README.md").write_text(index_page(reports), encoding="utf-8")


def pictures(report: Report) -> dict[str, str]:
    """SVGs by file name: one for each different sketch. The same bars with several goals are one picture."""
    sketches: dict[str, Sketch] = {}
    for result in report.results:
        sketch = result.picture()
        if sketch is None or sketch in sketches.values():
            continue
        for name, other in sketches.items():
            if replace(sketch, marks=()) == replace(other, marks=()):
                sketches[name] = replace(other, marks=[*other.marks, *sketch.marks])
                break
        else:
            number = f"-{len(sketches) + 1}" if sketches else ""
            sketches[f"{report.benchmark}{number}"] = sketch
    return {f"{name}.svg": draw(sketch) for name, sketch in sketches.items()}


def report_page(report: Report) -> str:
    """The page of one benchmark."""
    lines = [f"# {report.benchmark}", "", report.about, "", f"Measured on {report.date[:10]}.", ""]
    for result in report.results:
        lines += [f"- {'met' if result.met else 'missed'}: {result.verdict().removesuffix(' MISSED')}"]
    lines += ["", *_missed(report)]
    for name in pictures(report):
        lines += [f"![{name.removesuffix('.svg')}]({name})", ""]
    lines += [line for name, text in tables(report) for line in (f"## {name}", "", text, "")]
    lines += ["## Where and when", "", *(f"- {name}: {value}" for name, value in _where(report)), ""]
    return "\n".join(lines)


def _missed(report: Report) -> list[str]:
    """By how much goals were missed, what bounds them, and what would have to change."""
    lines = []
    for result in report.results:
        if not result.met:
            far = f" by a factor of {shown(result.shortfall)}" if math.isfinite(result.shortfall) else ""
            missed = f"**{result.name}** was missed{far}."
            lines += [f"{missed} {BOUNDS.get(result.name, '')}".rstrip(), ""]
    return lines


def tables(report: Report) -> list[tuple[str, str]]:
    """Names and texts of the results' tables. One that several goals share is shown once."""
    found: list[tuple[str, str]] = []
    shared: list[Sequence[Mapping[str, object]]] = []
    for result in report.results:
        if result.rows not in shared:
            shared.append(result.rows)
            found.append((result.name, result.table().rstrip()))
        elif result.spread:
            name, text = found[-1]
            found[-1] = (name, f"{text}\n\n{result.spread_line()}")
    return found


def _where(report: Report) -> list[tuple[str, str]]:
    rows = [("date", report.date), ("commit", report.commit)]
    if report.seconds is not None:
        rows.append(("took", f"{report.seconds / 60:.1f} minutes"))
    rows += [(name.replace("_gib", " (GiB)"), str(value)) for name, value in report.machine.items()]
    if report.load:
        rows.append(
            ("load average", ", ".join(f"{value:g} at the {when}" for when, value in report.load.items()))
        )
    rows.append(("versions", ", ".join(f"{name} {value}" for name, value in report.versions.items())))
    return rows


def index_page(reports: Sequence[Report]) -> str:
    """All goals, and below them the pictures."""
    lines = [_INDEX_HEAD, "| | what | goal | figure | | date | report |", "|---|---|---|---|---|---|---|"]
    for report in reports:
        for result in report.results:
            figure, verdict = f"{shown(result.figure)}{result.unit}", "met" if result.met else "**missed**"
            lines.append(
                f"| {result.name} | {shown(result.what)} | {result.bound} | {figure} | {verdict} "
                f"| {report.date[:10]} | [{report.benchmark}]({report.benchmark}.md) |"
            )
    lines.append("")
    for report in reports:
        for name in pictures(report):
            lines += (
                [f"## {report.benchmark}", "", report.about, ""] if name == f"{report.benchmark}.svg" else []
            )
            lines += [f"![{name.removesuffix('.svg')}]({name})", ""]
    return "\n".join(lines)
