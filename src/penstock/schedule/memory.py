"""How much memory the machine has left."""

from __future__ import annotations

from pathlib import Path

__all__ = ["is_short_of_memory"]

SHORT = 0.4
"""The share of available memory below which it counts as short."""

_FACTS = Path("/proc/meminfo")


def is_short_of_memory() -> bool:
    """Whether this machine has little memory left; False if unknown."""
    try:
        lines = _FACTS.read_text(encoding="ascii").splitlines()
    except OSError:
        return False
    facts = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}
    return facts.get("MemAvailable", 1) < SHORT * facts.get("MemTotal", 0)
