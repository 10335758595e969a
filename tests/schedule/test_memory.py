"""Whether the machine has memory left."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.schedule import memory


@pytest.mark.parametrize(("available", "short"), [(9_000, False), (4_100, False), (3_900, True), (0, True)])
def test_memory_is_short_when_little_of_it_could_be_had(
    available: int, short: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = tmp_path / "meminfo"
    facts.write_text(f"MemTotal:   10000 kB\nMemFree:   1 kB\nMemAvailable:  {available} kB\n")
    monkeypatch.setattr(memory, "_FACTS", facts)
    assert memory.is_short_of_memory() == short


def test_a_system_that_does_not_tell_is_never_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_FACTS", tmp_path / "nothing")
    assert not memory.is_short_of_memory()
