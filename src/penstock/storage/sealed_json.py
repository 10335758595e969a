"""One line of JSON that begins with its format and its checksum: manifests and pages of the index of changes.

::

    {"format":2,"crc32c":"0a1b2c3d",…}

The start is fixed to the byte, so that both can be read before anything else is trusted. The checksum covers
the digits of the format and everything after the comma that follows the checksum.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.errors import CorruptionError, StorageError
from penstock.storage import strict_json
from penstock.storage.checksum import crc32c

__all__ = ["Sealed", "seal", "unseal"]

_PREFIX = re.compile(rb'\{"format":(\d{1,9}),"crc32c":"([0-9a-f]{8})",')


@dataclass(frozen=True)
class Sealed:
    """The contents of a file that was checked."""

    format: int
    crc32c: int
    value: Mapping[str, Any]


def seal(name: str, version: int, value: Mapping[str, Any]) -> tuple[bytes, int]:
    """The contents of the file ``name`` in format ``version``, and their checksum."""
    rest = strict_json.encode(value, name)[1:] + b"\n"
    crc = crc32c([b"%d" % version, rest])
    return b'{"format":%d,"crc32c":"%08x",' % (version, crc) + rest, crc


def unseal(name: str, what: str, content: bytes, known: Collection[int], fields: Collection[str]) -> Sealed:
    """Checks the contents of a file. ``what`` describes it in errors; ``known`` are the formats that can
    be read; ``fields`` are in every file of this kind and tell it from the other kinds."""
    prefix = _PREFIX.match(content)
    if prefix is None:
        raise CorruptionError(f"{name}: {what} does not start as one; it is damaged")
    rest = content[prefix.end() :]
    expected, found = int(prefix[2], 16), crc32c([prefix[1], rest])
    if found != expected:
        raise CorruptionError(
            f"{name}: {what} is damaged: its checksum is {found:08x}, {expected:08x} was written"
        )
    value = strict_json.decode(b"{" + rest)
    assert isinstance(value, dict)
    if missing := sorted(set(fields) - value.keys()):
        raise CorruptionError(
            f"{name}: this is not {what}: it has no {' and no '.join(missing)}. Another file was copied or "
            "moved to this name"
        )
    if int(prefix[1]) not in known:
        reads = " and ".join(map(str, sorted(known)))
        raise StorageError(
            f"{name}: {what} has format {int(prefix[1])}, which is not known to this version of Penstock "
            f"(it reads {reads}); a newer one wrote the file"
        )
    return Sealed(int(prefix[1]), expected, value)
