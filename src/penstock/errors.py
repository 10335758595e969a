"""Every error a user can see. Each says what went wrong, where, and what to do.

Errors form one small tree under :class:`PenstockError`, so ``except PenstockError`` catches everything that
Penstock raises on purpose and nothing else. A subclass exists where a caller would handle the case
differently; the message is for people.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "CorruptionError",
    "DefinitionChanged",
    "DuplicateKey",
    "EnvironmentProblem",
    "EvaluationError",
    "InUse",
    "InputError",
    "MissingRow",
    "PenstockError",
    "PipelineError",
    "RowConflict",
    "SqlError",
    "StorageError",
    "UnsupportedQuery",
    "VersionLate",
    "WorkerLost",
    "choice_text",
]


def choice_text(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the closest known name, and the list of all of them.

    >>> choice_text("ordres", ["orders", "visits"])
    'did you mean orders? There are: orders, visits'
    """
    names = list(known)
    by_folded = {candidate.casefold(): candidate for candidate in names}
    near = difflib.get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.6)
    listed = f"here are: {', '.join(names)}" if names else "here are none"
    return f"did you mean {by_folded[near[0]]}? T{listed}" if near else f"t{listed}"


class PenstockError(Exception):
    """The root of all errors raised by Penstock."""


class EnvironmentProblem(PenstockError):
    """The machine lacks something Penstock needs (Java, free task slots, a classic Spark session)."""


class SqlError(PenstockError):
    """A script or query that is not valid: Spark's own message, with the statement it belongs to."""


class DefinitionChanged(SqlError):
    """A table or view is declared again with another definition than the stored one. The message shows the
    difference and what to do; ``names`` are the relations."""

    def __init__(self, message: str, names: tuple[str, ...]) -> None:
        self.names = names
        super().__init__(message)


class UnsupportedQuery(PenstockError):
    """A valid query that cannot be kept up to date (yet, or on principle).

    ``construct`` names what is rejected, ``place`` its position in the query, ``advice`` what to write
    instead. Raised when the view is created, never later.
    """

    def __init__(self, construct: str, *, place: str = "", reason: str = "", advice: str = "") -> None:
        self.construct, self.place, self.reason, self.advice = construct, place, reason, advice
        message = f"{construct} cannot be kept up to date"
        if place:
            message += f" (in {place})"
        if reason:
            message += f": {reason}"
        if advice:
            message += f". {advice}"
        super().__init__(message)


class InputError(PenstockError):
    """Rows that a table cannot accept. Names the table and, where known, the row number and the column."""

    def __init__(self, table: str, reason: str, *, row: int | None = None, column: str | None = None) -> None:
        self.table, self.reason, self.row, self.column = table, reason, row, column
        where = f"table {table}"
        if row is not None:
            where += f", row {row}"
        if column is not None:
            where += f", column {column}"
        super().__init__(f"{where}: {reason}")


class EvaluationError(PenstockError):
    """An expression failed on a row, as Spark's ANSI mode says it must (overflow, bad cast, division by zero)

    ``condition`` is Spark's own name of the error (``DIVIDE_BY_ZERO``). Raised by a kernel without knowing
    the view; the step adds ``view`` and ``expression`` on the way out.
    """

    def __init__(self, condition: str, message: str, *, view: str = "", expression: str = "") -> None:
        self.condition, self.message, self.view, self.expression = condition, message, view, expression
        text = f"[{condition}] {message}"
        if view:
            text += f" (in view {view}"
            text += f", expression {expression})" if expression else ")"
        super().__init__(text)

    def located(self, view: str, expression: str) -> EvaluationError:
        """The same error, saying in which view and expression it arose."""
        return EvaluationError(
            self.condition, self.message, view=self.view or view, expression=self.expression or expression
        )


class StorageError(PenstockError):
    """State could not be read or written; names the file."""


class InUse(StorageError):
    """Another process (or another run in this one) holds the pipeline's state open for writing."""


class CorruptionError(StorageError):
    """A stored file is not what was written. Names the file, the block and what the block held."""


class PipelineError(PenstockError):
    """The pipeline cannot do this in its current state."""


class VersionLate(PenstockError):
    """Steps up to ``step`` are done and safe in the input log, but their version could not be written yet.

    ``run.step()`` never raises it, since its step did not fail: it is in the step's report and in the status,
    and is raised by calls that ask for a version (``run.commit()``, ``run.close()``). Do not push the rows
    again."""

    def __init__(self, step: int, reason: str, *, in_log: bool = True) -> None:
        self.step, self.reason, self.in_log = step, reason, in_log
        if in_log:
            super().__init__(
                f"steps up to {step} are done and safe in the input log, but no version of the state could "
                f"be made: {reason}. Nothing is lost and nothing has to be pushed again; versions go on when "
                "the cause is gone"
            )
        else:
            super().__init__(
                f"no version of the state could be made after step {step}: {reason}. The input log is not "
                "there either: if the storage folder was moved or deleted, put it back before the program "
                "ends"
            )


class WorkerLost(PenstockError):
    """A worker died or stopped answering. The coordinator starts the next gang; users rarely see this."""


class RowConflict(InputError):
    """A pushed row that contradicts what the table holds, named by its hash (``hi``, ``lo``).

    Workers see hashes and not row numbers; the coordinator, which still has the pushed rows, finds the
    number and raises the plain :class:`InputError`."""

    reason_text = "the row contradicts the table"
    about_deletes = False

    def __init__(self, table: str, hi: int, lo: int) -> None:
        self.hi, self.lo = hi, lo
        super().__init__(table, self.reason_text)


class MissingRow(RowConflict):
    """A delete of a row that a keyless table does not hold, or holds fewer times."""

    about_deletes = True
    reason_text = "the row to delete is not in the table (or not as often as it is deleted)"


class DuplicateKey(RowConflict):
    """An insert into a keyed table under a key that is already there."""

    reason_text = "a row with this primary key is already in the table; use upsert to replace it"
