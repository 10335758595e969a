"""``penstock convert``: everything in the present format, nothing lost, whenever it is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.errors import InUse, PipelineError, StorageError
from penstock.pipeline.checking import check_folder
from penstock.pipeline.conversion import convert_folder
from penstock.pipeline.store import PipelineStore
from penstock.storage import LocalBackend, MemoryBackend, Segment, SegmentWriter
from penstock.trace import form
from penstock.trace.stored import BLOCKS
from tests.pipeline.story import STEPS, changes, check, coordinator, live
from tests.storage.old_formats import as_format


def old_folder(backend: MemoryBackend | LocalBackend) -> None:
    """A story whose segments are all of format 1."""
    driver = coordinator(backend)  # type: ignore[arg-type]
    driver.open()
    live(driver)
    driver.commit()
    driver.close()
    for name in backend.list("segments/"):
        content = as_format(bytes(backend.open(name)), 1)
        backend.delete(name)
        backend.write_new(name, [content])


def formats(backend: MemoryBackend | LocalBackend) -> set[int]:
    store = PipelineStore(backend, "story")
    return {Segment.open(backend, name).format for name in store.segments(store.version)}


def test_a_folder_is_converted_once_and_has_the_same_contents() -> None:
    backend = MemoryBackend()
    old_folder(backend)
    assert formats(backend) == {1}
    told: list[tuple[str, int, int]] = []
    done = convert_folder(backend, lambda *what: told.append(what))
    assert done.segments == len(told) > 1 and done.before > 0 < done.after
    assert formats(backend) == {2} and not check_folder(backend).problems
    assert done.version == PipelineStore(backend, "story").version.number
    assert convert_folder(backend).segments == 0
    driver = coordinator(backend, workers=3)
    driver.open()
    check(driver, STEPS)
    assert changes(driver, "pairs").num_rows
    driver.close()


def test_large_batches_are_converted_to_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = MemoryBackend()
    old_folder(backend)
    monkeypatch.setattr(form, "BLOCKED_ROWS", 4)
    convert_folder(backend)
    kinds = {e.kind for name in backend.list("segments/") for e in Segment.open(backend, name).entries}
    assert BLOCKS in kinds
    driver = coordinator(backend, workers=1)
    driver.open()
    check(driver, STEPS)
    driver.close()


def test_a_running_pipeline_and_an_empty_folder_are_refused() -> None:
    backend = MemoryBackend()
    with pytest.raises(PipelineError, match="holds no pipeline"):
        convert_folder(backend)
    driver = coordinator(backend)
    driver.open()
    with pytest.raises((InUse, PipelineError)):
        convert_folder(backend)
    driver.close()


def test_an_error_while_writing_leaves_the_folder_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = MemoryBackend()
    old_folder(backend)
    finish, calls = SegmentWriter.finish, []

    def failing(writer: SegmentWriter) -> None:
        calls.append(writer.name)
        if len(calls) == 2:
            raise StorageError(f"{writer.name}: no space left")
        finish(writer)

    monkeypatch.setattr(SegmentWriter, "finish", failing)
    with pytest.raises(StorageError, match="no space left"):
        convert_folder(backend)
    monkeypatch.undo()
    assert formats(backend) == {1} and not check_folder(backend).problems
    assert convert_folder(backend).segments > 0
    assert formats(backend) == {2}


KILLED = """
import os, signal, sys
from penstock.pipeline.conversion import convert_folder
from penstock.storage import LocalBackend
from pathlib import Path
told = []
def tell(*what):
    told.append(what)
    if len(told) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
convert_folder(LocalBackend(Path(sys.argv[1])), tell)
"""


def test_a_killed_conversion_is_repeated(tmp_path: Path) -> None:
    backend = LocalBackend(tmp_path)
    old_folder(backend)
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], env=os.environ, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert formats(backend) == {1}
    shown = CliRunner().invoke(app, ["convert", str(tmp_path)])
    assert shown.exit_code == 0 and "Converted" in shown.output
    assert formats(backend) == {2}
    again = CliRunner().invoke(app, ["convert", str(tmp_path)])
    assert again.exit_code == 0 and "Nothing to convert" in again.output
    driver = coordinator(backend)  # type: ignore[arg-type]
    driver.open()
    check(driver, STEPS)
    driver.close()
