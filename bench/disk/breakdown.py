"""A state folder, byte by byte, with the operators of the pipeline's program as titles."""

from __future__ import annotations

from pathlib import Path

from penstock.circuit.program import Program
from penstock.schedule.folder_bytes import Part, bytes_by_use
from penstock.schedule.stored_version import Owner
from penstock.storage import open_backend

__all__ = ["Part", "broken_down"]


def broken_down(storage: Path, program: Program | None = None) -> list[Part]:
    """All bytes of a state folder. With the pipeline's program, state is told by its operators."""

    def title(slot: str, owner: Owner) -> str:
        if program is None or slot not in program.slots:
            return owner.operator or slot
        operator = program.slots[slot].operator
        found = f"{operator.info.name} {operator.describe() or ', '.join(operator.schema.names)}"
        return found if len(found) <= 70 else found[:69] + "…"

    return bytes_by_use(storage, open_backend(str(storage)), title)
