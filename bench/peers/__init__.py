"""The alternatives we measure ourselves beside, each in a virtual environment and a process of its own.

``make bench-peers`` makes the environments under ``artifacts/peers``. A peer is asked by running one of the
scripts in this folder with its Python; the answer is one JSON document on standard output. The scripts import
nothing of Penstock, and Penstock nothing of the peers.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

__all__ = ["PEERS", "PeerMissingError", "ask"]

_HERE = Path(__file__).parent
PEERS = _HERE.parent.parent / "artifacts" / "peers"


class PeerMissingError(Exception):
    """The peer's environment has not been made."""


def ask(peer: str, script: str, request: dict[str, Any], *, timeout_s: float = 3600) -> Any:
    """The answer of ``script`` to ``request``, from the peer's own Python."""
    python = PEERS / peer / "bin" / "python"
    if not python.exists():
        raise PeerMissingError(f"{peer} is not installed: run make bench-peers")
    done = subprocess.run(
        [python, _HERE / script],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        timeout=timeout_s,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{peer} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])
