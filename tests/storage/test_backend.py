"""What every backend promises: whole files, published once, and exclusive appending."""

from __future__ import annotations

import pickle
import threading
from pathlib import Path

import numpy as np
import pytest

from penstock.errors import StorageError
from penstock.storage import Backend, LocalBackend, MemoryBackend, open_backend
from penstock.storage.interface import NameTakenError


def test_a_file_is_read_back_as_its_parts_joined(backend: Backend) -> None:
    backend.write_new("a/b.bin", [b"one", bytearray(b"-two"), memoryview(np.arange(2)), b""])
    expected = b"one-two" + np.arange(2).tobytes()
    assert bytes(backend.open("a/b.bin")) == expected
    assert backend.size("a/b.bin") == len(expected)
    assert bytes(backend.read_at("a/b.bin", 3, 4)) == b"-two"
    assert bytes(backend.read_at("a/b.bin", len(expected) - 1, 100)) == expected[-1:]
    assert bytes(backend.read_at("a/b.bin", len(expected) + 5, 100)) == b""


def test_more_parts_than_one_system_call_takes_are_all_written(backend: Backend) -> None:
    parts = [b"%d," % i for i in range(5000)]
    backend.write_new("many", parts)
    assert bytes(backend.open("many")) == b"".join(parts)


def test_content_starts_aligned(backend: Backend) -> None:
    backend.write_new("a", [b"x" * 1000])
    assert backend.open("a").address % 64 == 0
    assert backend.read_at("a", 3, 100).address % 64 == 0


def test_a_name_is_never_published_twice(backend: Backend) -> None:
    backend.write_new("a", [b"first"])
    with pytest.raises(NameTakenError, match="a exists already"):
        backend.write_new("a", [b"second"])
    assert bytes(backend.open("a")) == b"first"


def test_of_many_racing_writers_exactly_one_wins(backend: Backend) -> None:
    won: list[int] = []
    start = threading.Barrier(8)

    def write(number: int) -> None:
        start.wait()
        try:
            backend.write_new("race/prize", [b"%d" % number])
        except NameTakenError:
            return
        won.append(number)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert bytes(backend.open("race/prize")) == b"%d" % won[0]


def test_list_is_sorted_and_by_prefix(backend: Backend) -> None:
    for name in ("b/2", "b/1", "a", "bb/3", "b/c/4"):
        backend.write_new(name, [b""])
    assert backend.list() == ["a", "b/1", "b/2", "b/c/4", "bb/3"]
    assert backend.list("b/") == ["b/1", "b/2", "b/c/4"]
    assert backend.list("b") == ["b/1", "b/2", "b/c/4", "bb/3"]
    assert backend.list("none/") == []


def test_delete_is_idempotent_and_what_was_opened_stays_readable(backend: Backend) -> None:
    backend.write_new("a", [b"content"])
    content = backend.open("a")
    backend.delete("a")
    backend.delete("a")
    assert not backend.exists("a")
    assert bytes(content) == b"content"


@pytest.mark.parametrize("verb", ["open", "size", "appender", "sync"])
def test_a_missing_file_is_named(backend: Backend, verb: str) -> None:
    with pytest.raises(StorageError, match=r"no/such\.log .* it does not exist"):
        getattr(backend, verb)("no/such.log")


@pytest.mark.parametrize(
    "name", ["", "/a", "../a", "a/../b", "a//b", ".hidden", "a/.tmp", "a\\b", "a\n", "a/"]
)
def test_names_that_could_escape_or_hide_are_refused(backend: Backend, name: str) -> None:
    with pytest.raises(StorageError, match="not a storage name"):
        backend.write_new(name, [b""])


def test_appends_are_seen_and_cut(backend: Backend) -> None:
    backend.write_new("in/1.log", [b"head"])
    appender = backend.appender("in/1.log")
    appender.append([b"one", b"two"])
    appender.append([b"three"])
    assert bytes(backend.read_at("in/1.log", 0, 100)) == b"headonetwothree"
    appender.truncate(10)
    appender.append([b"!"])
    appender.close()
    appender.close()
    assert bytes(backend.open("in/1.log")) == b"headonetwo!"
    with pytest.raises(StorageError, match="closed"):
        appender.append([b"x"])


def test_only_one_appender_at_a_time(backend: Backend) -> None:
    backend.write_new("in/1.log", [b""])
    first = backend.appender("in/1.log")
    with pytest.raises(StorageError, match="another writer"):
        backend.appender("in/1.log")
    first.close()
    backend.appender("in/1.log").close()


def test_open_backend_understands_paths_and_urls(tmp_path: Path) -> None:
    for place in (tmp_path / "s p", str(tmp_path / "s p"), (tmp_path / "s p").as_uri()):
        chosen = open_backend(place)
        assert isinstance(chosen, LocalBackend)
        assert chosen.root == tmp_path / "s p"
    assert not (tmp_path / "s p").exists()
    named = open_backend("memory://shop")
    assert isinstance(named, MemoryBackend)
    assert open_backend(named.url) is named
    assert open_backend("memory://") is not open_backend("memory://")


@pytest.mark.parametrize(
    "url", ["ftp://bucket/x", "file://host/x", "file:///x?io=fast", "s3:///x", "s3://b/x?no=1"]
)
def test_open_backend_refuses_what_it_does_not_know(url: str) -> None:
    with pytest.raises(StorageError, match=url.split(":", maxsplit=1)[0]):
        open_backend(url)


def test_a_local_backend_travels_to_another_process(tmp_path: Path) -> None:
    backend = LocalBackend(tmp_path)
    backend.write_new("a", [b"x"])
    assert bytes(pickle.loads(pickle.dumps(backend)).open("a")) == b"x"
