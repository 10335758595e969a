"""What was measured is kept as it is found: rounds take hours, and go on with ``--resume`` where they ended.

Only measurements of the same sizes belong together; each round tells the commit that it was made with. With a
report its rounds are published too, so that the next ones can be added on another day or machine.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from bench.machine import commit
from bench.nexmark.files import ARTIFACTS
from bench.nexmark.measured import Inputs, Measured, Round
from bench.pages import FOLDER

__all__ = ["Kept", "commits"]


@dataclass
class Kept:
    """Measurements by query and system, in a file for each set of sizes."""

    path: Path
    published: Path
    queries: dict[str, dict[str, Measured]] = field(default_factory=dict)

    @staticmethod
    def of(
        inputs: Inputs,
        forgotten: Iterable[str] = (),
        *,
        folder: Path = ARTIFACTS,
        published: Path = FOLDER / "rounds",
    ) -> Kept:
        """What earlier runs found here, or else what was published, without the ``forgotten`` queries."""
        name = f"nexmark-{inputs.small}-{inputs.large}-{inputs.group}.json"
        kept = Kept(folder / name, published / name)
        known = [path for path in (kept.path, kept.published) if path.exists()]
        if known:
            stored = json.loads(known[0].read_text(encoding="utf-8"))
            kept.queries = {
                query: {name: _measured(values) for name, values in found.items()}
                for query, found in stored.items()
                if query not in set(forgotten)
            }
        return kept

    def rounds(self, query: str, systems: Iterable[str]) -> int:
        """How many rounds of a query are done: where every system ran, failed, or cannot."""
        found = self.queries.get(query, {})
        return min(_done(found[name]) if name in found else 0 for name in systems)

    def add(self, query: str, found: Mapping[str, Measured]) -> None:
        """Keeps one query's measurements, at once."""
        self.queries[query] = {**self.queries.get(query, {}), **found}
        self._write(self.path)

    def publish(self) -> None:
        """Puts all rounds beside the report."""
        self._write(self.published)

    def _write(self, path: Path) -> None:
        content = {
            name: {system: asdict(of) for system, of in systems.items()}
            for name, systems in self.queries.items()
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        unfinished.replace(path)


def commits(found: Mapping[str, Mapping[str, Measured]]) -> list[str]:
    """If not all rounds were made with this commit: how many of which with which."""
    by_commit: dict[str, dict[str, int]] = {}
    for query, of in found.items():
        for each in of["penstock"].rounds:
            counts = by_commit.setdefault(each.commit, {})
            counts[query] = counts.get(query, 0) + 1
    if set(by_commit) <= {commit()}:
        return []
    return [
        f"commit {made}: {', '.join(f'{query} ({count})' for query, count in sorted(counts.items()))}"
        for made, counts in by_commit.items()
    ]


def _done(found: Measured) -> float:
    return float("inf") if found.error else len(found.rounds) + len(found.failures)


def _measured(values: dict[str, object]) -> Measured:
    rounds = [Round(**each) for each in values.pop("rounds")]  # type: ignore[attr-defined]
    return Measured(rounds, **values)  # type: ignore[arg-type]
