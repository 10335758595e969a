"""A newcomer's first minutes: links lead somewhere, verbs explain themselves, what is missing is said."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.docs.examples import ROOT, pages

_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", [*pages(), ROOT / "CHANGELOG.md"], ids=lambda page: page.name)
def test_links_to_files_lead_to_files(page: Path) -> None:
    targets = [link for link in _LINK.findall(page.read_text(encoding="utf-8")) if "://" not in link]
    missing = [link for link in targets if not (page.parent / link).exists()]
    assert not missing


def test_make_alone_lists_every_verb() -> None:
    listed = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    verbs = ("help", "setup", "demo", "test", "check", "bench", "faults-storage", "sql-coverage", "clean")
    for verb in verbs:
        assert re.search(rf"^  make {verb} +\w", listed, re.MULTILINE), f"make does not explain {verb}"


def _fake_java(folder: Path, says: str) -> Path:
    java = folder / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{says}\nEND\n")
    java.chmod(0o755)
    return folder


def _check_java(java_home: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "JAVA_HOME": str(java_home)}
    return subprocess.run([ROOT / "scripts" / "check-java"], env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("version", ["17", "17.0.15", "21-ea", "25"])
def test_java_17_and_newer_is_accepted(tmp_path: Path, version: str) -> None:
    answer = _check_java(_fake_java(tmp_path, f'openjdk version "{version}" 2025-04-15'))
    assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2", "16"])
def test_an_older_java_is_named_and_advice_given(tmp_path: Path, version: str) -> None:
    answer = _check_java(_fake_java(tmp_path, f'java version "{version}" 2020-01-01'))
    assert answer.returncode == 1
    assert f"is Java {version}" in answer.stderr
    assert "apt install" in answer.stderr and "brew install" in answer.stderr


def test_a_java_home_without_java_is_named(tmp_path: Path) -> None:
    answer = _check_java(tmp_path / "nowhere")
    assert answer.returncode == 1
    assert "nowhere, but there is no bin/java" in answer.stderr


def test_a_java_that_does_not_say_its_version_is_refused(tmp_path: Path) -> None:
    answer = _check_java(_fake_java(tmp_path, "Unable to locate a Java Runtime"))
    assert answer.returncode == 1
    assert "did not say its version" in answer.stderr


def test_a_python_that_is_too_old_is_refused_with_advice(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    answer = subprocess.run(
        [ROOT / "scripts" / "find-python"],
        env={**os.environ, "PYTHON": str(python)},
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 1
    assert "Python 3.11 or newer" in answer.stderr
