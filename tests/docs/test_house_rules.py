"""House rules that a machine can check: test files named after modules, and arguments passed plainly."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.docs.examples import ROOT

SOURCE = ROOT / "src" / "penstock"

TESTED = [
    "pipeline/coordinator.py",
    "pipeline/run.py",
    "schedule/handoff.py",
    "schedule/levels.py",
    "schedule/worker.py",
    "spark/gang.py",
    "spark/member.py",
    *sorted(
        path.relative_to(SOURCE).as_posix()
        for path in (SOURCE / "circuit" / "operators").glob("*.py")
        if path.name != "__init__.py"
    ),
]
"""Modules that must have a test file of their name: the core of a running pipeline, and each operator."""


def file_of_tests(module: str) -> Path:
    """Where the tests of a module are: tests mirror the package layout."""
    path = Path(module)
    return ROOT / "tests" / path.parent / f"test_{path.name}"


def has_tests(text: str) -> bool:
    return any(
        isinstance(node, ast.FunctionDef) and node.name.startswith("test_") for node in ast.parse(text).body
    )


def literals_unpacked(text: str) -> list[int]:
    """The lines of calls like ``f(*(a, b))``: they only shape how the formatter breaks lines."""
    return [
        call.lineno
        for call in ast.walk(ast.parse(text))
        if isinstance(call, ast.Call)
        for argument in call.args
        if isinstance(argument, ast.Starred) and isinstance(argument.value, ast.Tuple | ast.List)
    ]


@pytest.mark.parametrize("module", TESTED)
def test_a_module_has_a_test_file_of_its_name(module: str) -> None:
    assert (SOURCE / module).is_file(), f"{module} is gone: take it out of this list"
    tests = file_of_tests(module)
    assert tests.is_file(), f"{tests.relative_to(ROOT)} is missing"
    assert has_tests(tests.read_text(encoding="utf-8")), f"{tests.relative_to(ROOT)} has no test"


def test_arguments_are_passed_plainly() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for folder in ("src", "tests", "bench", "scripts")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line in literals_unpacked(path.read_text(encoding="utf-8"))
    ]
    assert not found, found


def test_the_rules_can_be_broken() -> None:
    assert literals_unpacked("f(a)\nf(*(a, b), *c)\ng(*[a])") == [2, 3]
    assert has_tests("def test_it() -> None: ...") and not has_tests("def helper() -> None: ...")
    assert not file_of_tests("circuit/operators/no_such_operator.py").exists()
