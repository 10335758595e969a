"""Pipelines whose state is not in mapped files: workers reach it by its URL, and the next process resumes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Mapping
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.storage import Segment, open_backend
from penstock.trace.stored import BLOCKS
from tests.storage.s3_server import BUCKET, environment, s3_environment, s3_server

ORDERS = 140_000  # enough for batches in blocks in both workers


def story(url: str, more: Mapping[str, str]) -> dict[str, object]:
    command = [sys.executable, "-m", "tests.pipeline.remote_story", url, str(ORDERS)]
    done = subprocess.run(
        command, env={**os.environ, **more}, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def told_twice(url: str, more: Mapping[str, str]) -> None:
    first, second = story(url, more), story(url, more)
    assert (first["step"], second["step"]) == (2, 3)
    assert first["row"] != second["row"]
    backend = open_backend(url)
    names = backend.list("segments/")
    assert any(e.kind == BLOCKS for name in names for e in Segment.open(backend, name).entries)
    for command in (["check", url], ["status", url], ["inspect", url]):
        result = CliRunner().invoke(app, command)
        assert result.exit_code == 0, result.output
        assert "remote" in result.output


@pytest.mark.parametrize("io", ["direct", "pread"])
def test_a_pipeline_resumes_from_files_that_are_read_by_position(tmp_path: Path, io: str) -> None:
    told_twice(f"{(tmp_path / 'state').as_uri()}?io={io}", {})


def test_a_pipeline_resumes_from_an_object_store(tmp_path: Path) -> None:
    with s3_server() as endpoint, s3_environment(endpoint):
        url = f"s3://{BUCKET}/{uuid.uuid4().hex}?cache={tmp_path / 'cache'}"
        told_twice(url, environment(endpoint))
        assert list((tmp_path / "cache").glob("*/*.block"))
