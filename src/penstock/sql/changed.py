"""The difference between a stored definition and the one that is declared now, for people."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql.types import StructType

from penstock.errors import DefinitionChanged
from penstock.sql.column_list import ViewColumn

__all__ = ["Change", "changed_error", "diff_text", "option_text", "table_text"]

_CONTEXT_LINES = 1
_REPLACE_SCRIPT = "pipe.sql(script, replace=True), on the command line penstock run --replace"


@dataclass(frozen=True)
class Change:
    """One relation whose definition has changed. ``dependants`` are the views that read it."""

    kind: str
    name: str
    old: str
    new: str
    dependants: tuple[str, ...] = ()
    line: int | None = None

    @property
    def text(self) -> str:
        """The relation, its position in the script, and its definition before (-) and now (+)."""
        place = "" if self.line is None else f" (line {self.line})"
        used = f"\n  read by {', '.join(self.dependants)}" if self.dependants else ""
        return f"{self.kind} {self.name}{place}\n{diff_text(self.old, self.new)}{used}"


def diff_text(old: str, new: str) -> str:
    """The lines that differ, with some context: ``-`` before, ``+`` now. Plans with equal text differ in
    types."""
    if old == new:
        return "  (the same, but for the types of some expressions)"
    before, after = _lines(old), _lines(new)
    found = list(difflib.unified_diff(before, after, n=_CONTEXT_LINES, lineterm=""))[2:]
    return "\n".join(f"  {line}" for line in found if not line.startswith("@@"))


def _lines(text: str) -> list[str]:
    """The lines without the indentation that all of them but the first share with the script."""
    lines = text.strip().splitlines()
    rest = [line for line in lines[1:] if line.strip()]
    margin = min((len(line) - len(line.lstrip()) for line in rest), default=0)
    return [line.rstrip() if i == 0 else line[margin:].rstrip() for i, line in enumerate(lines)]


def changed_error(changes: Sequence[Change], *, how: str = _REPLACE_SCRIPT) -> DefinitionChanged:
    """The error for definitions that differ from the stored ones, with advice. ``how`` is the call that
    replaces views."""
    tables = [change for change in changes if change.kind == "table"]
    several = len(changes) > 1
    head = (
        "definitions differ from those of the stored pipeline"
        if several
        else ("a definition differs from that of the stored pipeline")
    )
    parts = [f"{head} (- before, + now):", *(change.text for change in changes), ""]
    if tables:
        names = ", ".join(change.name for change in tables)
        drops = [f"DROP MATERIALIZED VIEW {name}" for t in tables for name in reversed(t.dependants)]
        drops += [f"DROP TABLE {change.name}" for change in tables]
        parts.append(
            f"A table is never replaced, because its rows would be lost ({names}). Put the old definition "
            f"back; or drop the table and what reads it first ({'; '.join(dict.fromkeys(drops))}), and push "
            "its rows again; or use another storage."
        )
    if len(tables) < len(changes):
        parts.append(
            "To drop the changed views and those that read them, and compute them again from the tables: "
            f"{how}. To keep what is stored, put the old definition back, or use another storage."
        )
    return DefinitionChanged("\n".join(parts), tuple(change.name for change in changes))


class _View(Protocol):
    """The parts of a view's definition outside its query."""

    @property
    def materialized(self) -> bool: ...
    @property
    def keeps_rows(self) -> bool: ...
    @property
    def columns(self) -> tuple[ViewColumn, ...]: ...


def option_text(view: _View) -> str:
    """The options of a definition that differ from the defaults: a line, or nothing."""
    words = [] if view.materialized else ["not stored"]
    words += [] if view.keeps_rows else ["'keepRows' = 'false'"]
    words += [f"columns ({', '.join(column.name for column in view.columns)})"] if view.columns else []
    return f"{', '.join(words)}\n" if words else ""


class _Table(Protocol):
    """What makes a table."""

    @property
    def schema(self) -> StructType: ...
    @property
    def primary_key(self) -> tuple[str, ...]: ...
    @property
    def properties(self) -> tuple[tuple[str, str], ...]: ...


def table_text(table: _Table) -> str:
    """Columns, key and properties of a table, one per line. Comments, and whether its changes are kept, are
    left out: they do not affect the rows."""
    lines = [
        f"{field.name} {field.dataType.simpleString().upper()}{'' if field.nullable else ' NOT NULL'}"
        for field in table.schema.fields
    ]
    if table.primary_key:
        lines.append(f"PRIMARY KEY ({', '.join(table.primary_key)})")
    lines += [
        f"'{name}' = '{value}'" for name, value in sorted(table.properties) if name.lower() != "keepchanges"
    ]
    return "\n".join(lines)
