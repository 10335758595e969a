"""Only the JVM's known greetings may be kept from the user."""

from __future__ import annotations

import subprocess
import sys

import pytest

from penstock.cli.starting import is_chatter

_PROGRAM = """
import os, subprocess, sys, time
from penstock.cli.starting import _filtered_stderr
with _filtered_stderr():
    child = subprocess.Popen(["sh", "-c", "echo 'Setting default log level to' >&2; echo OutOfMemory >&2"])
    print("our own line", file=sys.stderr)
    child.wait()
time.sleep(0.3)
print("afterwards", file=sys.stderr)
os.write(2, b"straight to the descriptor\\n")
"""


def test_children_lose_their_chatter_and_nothing_else() -> None:
    seen = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True).stderr
    assert sorted(seen.splitlines()) == [
        "OutOfMemory",
        "afterwards",
        "our own line",
        "straight to the descriptor",
    ]


@pytest.mark.parametrize("line", [b"WARNING: An illegal access\n", b"ERROR Executor\n", b"\n"])
def test_other_warnings_are_not_chatter(line: bytes) -> None:
    assert not is_chatter(line)
