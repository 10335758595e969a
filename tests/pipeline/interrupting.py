"""An exception at any line of the code that decides what has happened, as Ctrl-C raises one anywhere."""

from __future__ import annotations

import sys
from collections.abc import Collection
from pathlib import Path
from types import FrameType
from typing import Any

import penstock

_SOURCE = Path(penstock.__file__).parent


class Interrupting:
    """Raises KeyboardInterrupt where the ``at``-th different line of some files is run for the first time;
    without ``at`` it counts the lines.

    >>> with Interrupting({"storage/checksum.py"}) as counting:
    ...     _ = penstock.storage.checksum.crc32c([b""])
    >>> counting.lines > 0
    True
    """

    def __init__(self, files: Collection[str], at: int = -1) -> None:
        self._files = {str(_SOURCE / file) for file in files}
        self._at = at
        self._seen: set[tuple[str, int]] = set()

    @property
    def lines(self) -> int:
        """How many different lines were run."""
        return len(self._seen)

    def __enter__(self) -> Interrupting:
        self._before = sys.gettrace()
        sys.settrace(self._call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _call(self, frame: FrameType, event: str, arg: object) -> Any:
        return self._line if frame.f_code.co_filename in self._files else None

    def _line(self, frame: FrameType, event: str, arg: object) -> Any:
        place = (frame.f_code.co_filename, frame.f_lineno)
        if event == "line" and place not in self._seen:
            self._seen.add(place)
            if self.lines == self._at:
                sys.settrace(self._before)
                raise KeyboardInterrupt("{}:{}".format(*place))
        return self._line
