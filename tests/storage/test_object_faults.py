"""An object store that fails: requests are repeated, lost answers do no harm, and errors name the object."""

from __future__ import annotations

import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

from penstock.errors import CorruptionError, StorageError
from penstock.storage import Log, ObjectBackend, Segment, SegmentWriter, object_store, read_log
from penstock.storage.interface import NameTakenError
from tests.storage.s3_server import BUCKET, s3_environment, s3_server

Fault = Callable[[dict[str, Any]], str]
"""Called for each request: nothing, "refuse" (500 before anything is done) or "lose" (500 afterwards)."""


class Faulty:
    """The server, and what goes wrong with it."""

    def __init__(self) -> None:
        self.fault: Fault = lambda _: ""
        self.requests = 0
        self._lock = threading.Lock()

    def wrapped(self, application: Any) -> Any:
        def serve(request: dict[str, Any], start: Any) -> Any:
            with self._lock:
                self.requests += 1
                kind = self.fault(request)
            if kind == "refuse":
                start("500 Internal Server Error", [("Content-Length", "0")])
                return [b""]
            if kind == "deny":
                body = b"<Error><Code>SignatureDoesNotMatch</Code><Key>not-so-secret AKIATEST</Key></Error>"
                start("403 Forbidden", [("Content-Length", str(len(body)))])
                return [body]
            if kind == "lose":
                list(application(request, lambda *_: None))
                start("500 Internal Server Error", [("Content-Length", "0")])
                return [b""]
            return application(request, start)

        return serve


@pytest.fixture
def faulty() -> Iterator[tuple[Faulty, Callable[[], ObjectBackend]]]:
    server = Faulty()
    with s3_server(server.wrapped) as endpoint, s3_environment(endpoint):
        url = f"s3://{BUCKET}/{uuid.uuid4().hex}?cache=off"
        yield server, lambda: ObjectBackend(url, retry_s=1)


Faulted = tuple[Faulty, Callable[[], ObjectBackend]]


def test_a_write_whose_answer_was_lost_has_happened_once(faulty: Faulted) -> None:
    server, made = faulty
    backend = made()
    lost: list[str] = []

    def lose_first_put(request: dict[str, Any]) -> str:
        if request["REQUEST_METHOD"] == "PUT" and not lost:
            lost.append(request["PATH_INFO"])
            return "lose"
        return ""

    server.fault = lose_first_put
    backend.write_new("manifest/0000000001.json", [b"mine"])
    assert lost and bytes(backend.open("manifest/0000000001.json")) == b"mine"
    with pytest.raises(NameTakenError):
        backend.write_new("manifest/0000000001.json", [b"mine"])


def test_the_log_survives_a_fault_at_every_request(faulty: Faulted) -> None:
    server, made = faulty
    for kind in ("lose", "refuse"):
        for nth in range(1, 12):
            folder, start = f"input-{kind}-{nth}", server.requests

            def once(request: dict[str, Any], start: int = start, nth: int = nth, kind: str = kind) -> str:
                return kind if server.requests - start == nth else ""

            server.fault = once
            with Log(made(), folder) as log:
                for step in (1, 2):
                    log.append(step, [b"step %d" % step])
                log.rotate(3)
                log.append(3, [b"step 3"])
            server.fault = lambda _: ""
            found = [(step, bytes(payload)) for step, payload in read_log(made(), folder)]
            assert found == [(step, b"step %d" % step) for step in (1, 2, 3)], (kind, nth)


def test_retries_end_with_an_error_that_names_the_object(faulty: Faulted) -> None:
    server, made = faulty
    backend = made()
    server.fault = lambda _: "refuse"
    with pytest.raises(StorageError, match=r"segments/a\.seg cannot be written in s3://.*500"):
        backend.write_new("segments/a.seg", [b"x"])
    with pytest.raises(StorageError, match=r"segments/a\.seg cannot be read"):
        backend.open("segments/a.seg")
    server.fault = lambda _: ""
    backend.write_new("segments/a.seg", [b"x"])
    assert bytes(backend.open("segments/a.seg")) == b"x"


def test_a_failed_append_makes_the_log_uncertain_and_then_it_goes_on(faulty: Faulted) -> None:
    server, made = faulty
    log = Log(made(), "input")
    log.append(1, [b"one"])
    server.fault = lambda request: "lose" if request["REQUEST_METHOD"] == "PUT" else ""
    with pytest.raises(StorageError):
        log.append(2, [b"two"])
    assert not log.is_certain
    server.fault = lambda _: ""
    assert log.last_step == 2  # it was written, and only the answer was lost
    log.append(3, [b"three"])
    assert [step for step, _ in log.read()] == [1, 2, 3]
    log.close()


def test_errors_do_not_show_credentials(faulty: Faulted) -> None:
    server, made = faulty
    backend = made()
    server.fault = lambda _: "deny"
    with pytest.raises(StorageError, match="access is denied; check the credentials") as caught:
        backend.open("segments/a.seg")
    shown = str(caught.value) + repr(caught.value.__cause__) + repr(backend)
    assert "not-so-secret" not in shown and "AKIATEST" not in shown
    assert caught.value.__suppress_context__


def test_a_bucket_that_does_not_exist_is_named(faulty: Faulted) -> None:
    backend = ObjectBackend("s3://no-such-bucket/x?cache=off", retry_s=1)
    with pytest.raises(StorageError, match="the bucket of s3://no-such-bucket/x does not exist"):
        backend.open("manifest/0000000001.json")


def test_damage_in_an_object_is_found_with_file_and_block(faulty: Faulted) -> None:
    _, made = faulty
    backend, name = made(), "segments/0000000001-w0000-0123456789ab.seg"
    writer = SegmentWriter(backend, name)
    writer.add("batch", {"arrangement": "a"}, pa.RecordBatch.from_pydict({"x": list(range(1000))}))
    writer.finish()
    content = bytearray(backend.open(name))
    for position, what in ((5, "header"), (500, "block 0"), (len(content) - 100, "footer")):
        broken = bytes(content[:position]) + bytes([content[position] ^ 4]) + bytes(content[position + 1 :])
        backend.delete(name)
        backend.write_new(name, [broken])
        with pytest.raises(CorruptionError, match=rf"{name}: .*{what}"):
            Segment.open(backend, name).read(0)


def test_large_files_are_uploaded_in_parts_and_published_once(
    faulty: Faulted, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, made = faulty
    backend = made()
    monkeypatch.setattr(object_store, "SINGLE_BYTES", 1 << 20)
    content = bytes(range(256)) * 80_000
    backend.write_new("segments/a.seg", [content[:100], memoryview(content)[100:]])
    draft = backend.draft()
    draft.write_at(1000, content[1000:])
    draft.write_at(0, content[:1000])
    draft.publish("segments/b.seg")
    for name in ("segments/a.seg", "segments/b.seg"):
        assert bytes(backend.open(name)) == content
        with pytest.raises(NameTakenError):
            backend.write_new(name, [content])
    other = backend.draft()
    other.write_at(0, content)
    with pytest.raises(NameTakenError):
        other.publish("segments/b.seg")
    other.discard()


def test_a_server_error_about_an_object_numbered_416_is_not_taken_for_its_end(faulty: Faulted) -> None:
    server, made = faulty
    backend, name = made(), "segments/0000000416-w0000-0123456789ab.seg"
    backend.write_new(name, [b"x"])
    assert bytes(backend.read_at(name, 5, 5)) == b""
    server.fault = lambda _: "refuse"
    with pytest.raises(StorageError, match=name):
        backend.read_at(name, 0, 1)


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(StorageError, match=r"pip install 'penstock\[s3\]'"):
        ObjectBackend("s3://bucket/x")
