"""Everything the documentation shows is run, in order, in an empty folder per page."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from tests.docs.examples import ROOT, Block, blocks, commands, pages

_RUNNABLE = {"python", "console", "sql", "csv"}
_PAGES = [page for page in pages() if any(block.language in _RUNNABLE for block in blocks(page))]


def _run_python(block: Block, page: Path, names: dict[str, object]) -> None:
    # Leading newlines make line numbers in a traceback those of the page.
    code = compile("\n" * (block.line - 1) + block.text, str(page), "exec")
    exec(code, names)


_PYTHON = [page for page in _PAGES if any(block.language == "python" for block in blocks(page))]


@pytest.mark.parametrize("page", _PYTHON, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_examples_run_again_on_what_they_left(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(3):
        names: dict[str, object] = {"__name__": "__main__"}
        for block in blocks(page):
            if block.language == "python" and not block.name:
                _run_python(block, page, names)


def _run_command(words: list[str]) -> None:
    program, *arguments = words
    if program == "make":
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        assert all(f"\n{verb}:" in makefile for verb in arguments), f"make has no {arguments}"
        return
    assert program == "penstock", f"{program} is not a command that can be checked here"
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, f"{' '.join(words)} failed:\n{result.output}"


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_example_of_the_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page):
        if block.name:
            (tmp_path / block.name).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            _run_python(block, page, names)
        elif block.language == "console":
            for words in commands(block):
                _run_command(words)
