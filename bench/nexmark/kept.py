"""What was measured is kept as it is found: a run takes hours, and goes on with ``--resume`` where it ended.

Only measurements of the same sizes belong together; each tells the commit that it was made with.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from bench.machine import commit
from bench.nexmark.files import ARTIFACTS
from bench.nexmark.measured import Inputs, Measured

__all__ = ["Kept"]


@dataclass
class Kept:
    """Measurements by query and system, in a file for each set of sizes."""

    path: Path
    commits: dict[str, str] = field(default_factory=dict)
    queries: dict[str, dict[str, Measured]] = field(default_factory=dict)

    @staticmethod
    def of(inputs: Inputs, *, resume: bool, folder: Path = ARTIFACTS) -> Kept:
        """Nothing yet, or with ``resume`` what an earlier run found."""
        sizes = (inputs.small, inputs.large, inputs.group, inputs.repeats, inputs.variants)
        kept = Kept(folder / f"measured-{'-'.join(map(str, sizes))}.json")
        if resume and kept.path.exists():
            stored = json.loads(kept.path.read_text(encoding="utf-8"))
            kept.commits = stored["commits"]
            kept.queries = {
                query: {name: Measured(**values) for name, values in found.items()}
                for query, found in stored["queries"].items()
            }
        return kept

    def add(self, query: str, found: Mapping[str, Measured]) -> None:
        """Keeps one query's measurements, at once."""
        self.queries[query], self.commits[query] = dict(found), commit()
        content = {
            "commits": self.commits,
            "queries": {
                name: {system: asdict(of) for system, of in systems.items()}
                for name, systems in self.queries.items()
            },
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.path.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(content), encoding="utf-8")
        unfinished.replace(self.path)

    def notes(self) -> list[str]:
        """If not all were made with this commit: which with which."""
        by_commit: dict[str, list[str]] = {}
        for query, made in self.commits.items():
            by_commit.setdefault(made, []).append(query)
        if set(by_commit) <= {commit()}:
            return []
        return [f"commit {made}: {', '.join(sorted(queries))}" for made, queries in by_commit.items()]
