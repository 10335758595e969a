"""Which views to create again after a view that they read was replaced, and when."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from penstock.sql.views import PendingView, ViewDefinition

__all__ = ["Displaced"]

View = ViewDefinition | PendingView


class Displaced:
    """Views that were dropped because a view that they read is replaced.

    One that the rest of the script declares is created by its own statement, which may have changed; the
    others as soon as everything they read exists again.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, View] = {}

    def add(self, view: View) -> None:
        """A view was taken out. Views are added in the reverse order of their dependencies."""
        self._waiting = {view.name: view, **self._waiting}

    def next(self, there: Collection[str], later: Iterable[str]) -> View | None:
        """A view that can be created again now, if there is one. ``there`` names the relations that exist,
        ``later`` those that statements still to come declare."""
        coming = {name.lower() for name in later}
        self._waiting = {name: view for name, view in self._waiting.items() if name not in there}
        for name, view in self._waiting.items():
            if name.lower() not in coming and all(used in there for used in view.uses):
                return self._waiting.pop(name)
        return None
