"""Finds the examples in a Markdown page.

A fenced block is an example by its first word: ``python`` is run, ``console`` holds commands after ``$``, and
a block with a file name after its language (``sql shop.sql``) is the content of that file.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ROOT", "Block", "blocks", "commands", "pages"]

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r"^```(\w+)?[ ]*([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block: language, file name (or nothing), content, and the line it starts on."""

    language: str
    name: str
    text: str
    line: int


def pages() -> list[Path]:
    """Every page whose examples are run."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(found[1] or "", found[2].strip(), found[3], text.count("\n", 0, found.start()) + 2)
        for found in _FENCE.finditer(text)
    ]


def commands(block: Block) -> list[list[str]]:
    """The commands of a console block, split into words."""
    return [shlex.split(line[2:]) for line in block.text.splitlines() if line.startswith("$ ")]
