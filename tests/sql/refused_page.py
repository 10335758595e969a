"""The page of refused constructs, made from the cases that are tested (``refused.txt``).

``python -m tests.sql.refused_page`` writes ``docs/sql-refused.md``; a test sees that it is up to date.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["PAGE", "page_text"]

PAGE = Path(__file__).parents[2] / "docs" / "sql-refused.md"
_CASES = Path(__file__).parent / "refused.txt"

_INTRODUCTION = """# What cannot be a view, and what you are told

A view answers after every step what Spark would answer in batch. Where that cannot be promised, the view is
refused when it is created, with the construct, its place, the reason, and what to write instead; nothing of
the script takes effect. These are the messages, each of them tested (`tests/sql/refused.txt`); this page is
made from the tests by `make sql-coverage`.
"""


def page_text() -> str:
    """The page."""
    parts = [_INTRODUCTION]
    blocks = _CASES.read_text(encoding="utf-8").split("\n\n")[1:]
    for number, block in enumerate(blocks, 1):
        lines = block.strip("\n").splitlines()
        headings = [line.removeprefix("# ") for line in lines if line.startswith("#")]
        parts += [f"## {heading}\n" for heading in headings]
        query, _, message = "\n".join(line for line in lines if not line.startswith("#")).partition(";\n")
        parts.append(f"{number}. `{' '.join(query.split())}`\n\n   > {message.replace('<', '&lt;')}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page_text(), encoding="utf-8")
    print(f"written: {PAGE.name}")
