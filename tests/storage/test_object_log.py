"""Files that grow in an object store: one sequence of objects, one writer, and nothing of a former one."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import CorruptionError, InUse, StorageError
from penstock.storage import Log, Pointer
from penstock.storage import lease as lease_module
from penstock.storage.object_log import Kind, _encoded, grown_file
from penstock.storage.object_store import ObjectInfo
from tests.storage.conftest import Objects

NAME = "input/0000000001.log"

OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.binary(min_size=1, max_size=20)),
        st.tuples(st.just("cut"), st.integers(0, 60)),
        st.tuples(st.just("claim"), st.just(0)),
    ),
    max_size=12,
)


@given(st.binary(max_size=10), OPERATIONS, st.integers(0, 70), st.integers(0, 70))
def test_a_file_is_what_its_parts_say(
    base: bytes, operations: list[tuple[str, bytes | int]], one: int, other: int
) -> None:
    stored, content = {"f": base}, base
    for number, (what, value) in enumerate(operations, start=1):
        part = f".f/{number:010d}"
        if isinstance(value, bytes):
            stored[part] = _encoded(Kind.DATA, number, bytes(16)) + value
            content += value
        elif what == "cut":
            stored[part] = _encoded(Kind.CUT, number, bytes(16), value)
            content = content[:value]
        else:
            stored[part] = _encoded(Kind.CLAIM, number, bytes(16))
    listed = {name: len(bytes_) for name, bytes_ in stored.items() if name != "f"}
    found = grown_file("f", ObjectInfo(len(base), "t"), listed, lambda name: pa.py_buffer(stored[name]))
    assert found.last == len(operations) and found.size == len(content)
    assert read(stored, found.pieces) == content
    start, stop = sorted((one, other))
    assert read(stored, found.between(start, stop)) == content[start:stop]


def read(stored: dict[str, bytes], pieces: tuple[Pointer, ...]) -> bytes:
    return b"".join(stored[p.name][p.offset : p.offset + p.length] for p in pieces)


def test_a_missing_or_damaged_part_is_an_error_that_names_it() -> None:
    info, claim = ObjectInfo(3, "t"), _encoded(Kind.CLAIM, 1, bytes(16))
    with pytest.raises(CorruptionError, match="its part 1 is missing"):
        grown_file("f", info, {".f/0000000002": 70}, lambda _: pa.py_buffer(b""))
    for content in (claim[:10] + b"\xff" + claim[11:], bytes(64), claim[:20]):
        with pytest.raises(CorruptionError, match=r"\.f/0000000001: this part of a log is damaged"):
            grown_file("f", info, {".f/0000000001": 64}, lambda _, c=content: pa.py_buffer(c))
    with pytest.raises(CorruptionError, match="this is part 1, which was copied or moved"):
        grown_file("f", info, {".f/0000000001": 64, ".f/0000000002": 64}, lambda _: pa.py_buffer(claim))


def expire(backend: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the holder had been stopped for longer than its lease lasts."""
    later = lease_module.time.time() + 2 * lease_module.LASTS_S
    monkeypatch.setattr(lease_module.time, "time", lambda: later)


def test_a_writer_that_was_stopped_too_long_cannot_append_any_more(
    objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = objects(), objects()
    old = Log(first, "input")
    old.append(1, [b"one"])
    with pytest.raises(InUse, match=r"another writer \(process \d+ on"):
        Log(second, "input")
    expire(first, monkeypatch)
    new = Log(second, "input")
    assert new.last_step == 1
    with pytest.raises(StorageError, match="taken over by another writer"):
        old.append(2, [b"of the old writer"])
    new.append(2, [b"of the new writer"])
    with pytest.raises(StorageError, match=r"taken over|another writer"):
        old.rotate(3)
    assert [(step, bytes(payload)) for step, payload in new.read()] == [
        (1, b"one"),
        (2, b"of the new writer"),
    ]
    old.close()
    new.close()


def test_a_lease_is_free_again_when_its_holder_closes_or_is_dead(
    objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    for step in (1, 2, 3):
        with Log(objects(), "input") as log:
            log.append(step, [b""])
            log.rotate(step + 1)
    dead = Log(objects(), "input")

    def gone(pid: int, signal: int) -> None:
        raise ProcessLookupError

    monkeypatch.setattr(lease_module.os, "kill", gone)
    with Log(objects(), "input") as log:
        assert log.last_step == 3
    dead.close()


def test_deleting_a_file_leaves_nothing_of_it_for_the_next_of_its_name(objects: Objects) -> None:
    backend = objects()
    for content in (b"first", b"other"):
        backend.write_new(NAME, [content])
        appender = backend.appender(NAME)
        appender.append([b" and more"])
        appender.close()
        assert bytes(backend.open(NAME)) == content + b" and more"
        backend.delete(NAME)
        assert backend.list("input/") == []
    assert not [name for name in backend._store.list("input") if "lease" not in name]


def test_appends_that_need_not_be_durable_are_written_together(objects: Objects) -> None:
    backend = objects()
    backend.write_new(NAME, [b"-"])
    appender = backend.appender(NAME)
    for _ in range(50):
        appender.append([b"ab"], durable=False)
    assert backend.size(NAME) < 101
    appender.append([b"c"])
    assert bytes(backend.open(NAME)) == b"-" + b"ab" * 50 + b"c"
    appender.append([b"d"], durable=False)
    appender.close()
    assert bytes(backend.open(NAME))[-2:] == b"cd"


def test_only_logs_can_be_appended_to(objects: Objects) -> None:
    backend = objects()
    backend.write_new("segments/a.seg", [b""])
    with pytest.raises(StorageError, match=r"only files that end in \.log"):
        backend.appender("segments/a.seg")
