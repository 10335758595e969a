"""The log: what was acknowledged is there, a torn tail is cut, damage anywhere else is an error."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from penstock.errors import CorruptionError, StorageError
from penstock.storage import Backend, Log, MemoryBackend, Part, read_log
from penstock.storage.checksum import seal
from penstock.storage.frames import frame_parts, log_header
from penstock.storage.memory import MemoryAppender

FIRST = "input/0000000001.log"


def contents(log: Log, from_step: int = 0) -> list[tuple[int, bytes]]:
    return [(step, bytes(payload)) for step, payload in log.read(from_step)]


def three_frames() -> tuple[bytes, list[int]]:
    """The bytes of a log file with steps 1, 2 and 3, and where each frame starts (and the last one ends)."""
    backend = MemoryBackend()
    ends = [64]
    with Log(backend, "input") as log:
        for step in (1, 2, 3):
            log.append(step, [b"payload of ", b"step %d" % step])
            ends.append(backend.size(FIRST))
    return bytes(backend.open(FIRST)), ends


def holding(content: bytes) -> MemoryBackend:
    backend = MemoryBackend()
    backend.write_new(FIRST, [content])
    return backend


def flipped(content: bytes, position: int) -> bytes:
    return content[:position] + bytes([content[position] ^ 0x10]) + content[position + 1 :]


def test_frames_come_back_in_order_after_reopening(backend: Backend) -> None:
    with Log(backend, "input") as log:
        assert log.last_step is None
        log.append(3, [b"a", memoryview(np.arange(2)), b""])
        log.append(3, [b"same step"])
        log.append(10, [])
    with Log(backend, "input") as log:
        assert (log.last_step, log.cut) == (10, "")
        assert contents(log) == [(3, b"a" + np.arange(2).tobytes()), (3, b"same step"), (10, b"")]
        assert contents(log, 4) == [(10, b"")]
        assert contents(log, 11) == []


def test_payloads_larger_than_the_reading_window_come_back(backend: Backend) -> None:
    noise = np.random.default_rng(1).bytes(3_000_000)
    with Log(backend, "input") as log:
        for step, size in enumerate((10, 1_500_000, 0, 3_000_000, 70)):
            log.append(step, [noise[:size]])
        for (step, payload), size in zip(log.read(), (10, 1_500_000, 0, 3_000_000, 70), strict=True):
            assert bytes(payload) == noise[:size], step
            assert size == 0 or payload.address % 64 == 0


def test_steps_never_go_down(backend: Backend) -> None:
    with Log(backend, "input") as log:
        log.append(5, [b""])
        for refused in (4, -1, 10**10):
            with pytest.raises(StorageError, match=f"step {refused} cannot come next"):
                log.append(refused, [b""])
        with pytest.raises(StorageError, match="step 5 cannot come next"):
            log.rotate(5)
        log.rotate(8)
        with pytest.raises(StorageError, match="starts at step 8"):
            log.append(6, [b""])
        log.append(8, [b""])


def test_whole_files_are_dropped_once_all_their_steps_are_old(backend: Backend) -> None:
    with Log(backend, "input") as log:
        for step in range(1, 10):
            log.append(step, [b"%d" % step])
            if step % 3 == 0:
                log.rotate(step + 1)
        assert log.drop_before(3) == []
        assert log.drop_before(4) == [FIRST]
        assert [step for step, _ in log.read()] == [4, 5, 6, 7, 8, 9]
        assert log.drop_before(100) == ["input/0000000004.log", "input/0000000007.log"]
        assert contents(log) == []
        log.append(10, [b"goes on"])
    with Log(backend, "input") as log:
        assert contents(log) == [(10, b"goes on")]


def test_the_last_step_is_known_after_rotating_into_an_empty_file(backend: Backend) -> None:
    with Log(backend, "input") as log:
        log.append(2, [b""])
        log.rotate(7)
        log.rotate(7)
        log.rotate(9)
    with Log(backend, "input") as log:
        assert log.last_step == 2
        with pytest.raises(StorageError, match="starts at step 9"):
            log.append(5, [b""])
    assert len(backend.list("input/")) == 3


def test_a_second_writer_is_refused_and_a_reader_is_not(backend: Backend) -> None:
    with Log(backend, "input") as log:
        log.append(1, [b"one"])
        with pytest.raises(StorageError, match="another writer"):
            Log(backend, "input")
        assert [step for step, _ in read_log(backend, "input")] == [1]
        log.append(2, [b"two"])
        assert [step for step, _ in read_log(backend, "input")] == [1, 2]


def test_a_closed_log_refuses(backend: Backend) -> None:
    log = Log(backend, "input")
    log.close()
    for refused in (lambda: log.append(1, [b""]), lambda: log.rotate(1)):
        with pytest.raises(StorageError, match="closed"):
            refused()
    assert backend.list() == []


def test_logs_in_nested_folders_do_not_see_each_other(backend: Backend) -> None:
    with Log(backend, "input") as outer, Log(backend, "input/orders") as inner:
        outer.append(1, [b"outer"])
        inner.append(2, [b"inner"])
        assert contents(outer) == [(1, b"outer")]
        assert contents(inner) == [(2, b"inner")]


def test_a_tail_torn_at_any_byte_is_cut_and_the_log_goes_on() -> None:
    content, starts = three_frames()
    for keep in range(starts[2] + 1, starts[3]):
        backend = holding(content[:keep])
        assert [step for step, _ in read_log(backend, "input")] == [1, 2], keep
        with Log(backend, "input") as log:
            assert f"{FIRST}: its last {keep - starts[2]} bytes, from byte {starts[2]} on" in log.cut
            assert bytes(backend.open(FIRST)) == content[:keep]  # opening has changed nothing
            assert log.last_step == 2
            log.append(3, [b"again"])
            assert [step for step, _ in log.read()] == [1, 2, 3]
        with Log(backend, "input") as log:
            assert log.cut == ""


@pytest.mark.parametrize("filler", [b"\0", b"\xff", b"PENSTFRM"])
@pytest.mark.parametrize("size", [1, 64, 1000, 2_000_000])
def test_a_tail_that_was_allocated_but_never_written_is_cut(filler: bytes, size: int) -> None:
    content, starts = three_frames()
    with Log(holding(content + (filler * size)[:size]), "input") as log:
        assert log.last_step == 3
        assert log.cut
    for kept in range(starts[2], starts[2] + 80, 16):  # only the first pages of a frame reached the disk
        with Log(holding(content[:kept].ljust(starts[3], b"\0")), "input") as log:
            assert log.last_step == 2


def test_every_damaged_byte_before_the_last_frame_is_an_error_that_names_the_place() -> None:
    content, starts = three_frames()
    for position in range(starts[2]):
        backend = holding(flipped(content, position))
        number = sum(position >= start for start in starts) - 1
        named = "header" if position < 64 else f"frame {number} at byte {starts[number]}"
        with pytest.raises(CorruptionError, match=f"{FIRST}: .*{named}"):
            Log(backend, "input")
        with pytest.raises(CorruptionError, match=FIRST):
            list(read_log(backend, "input"))
        assert bytes(backend.open(FIRST)) == flipped(content, position), "a damaged file is left as it is"


def test_a_lost_page_in_the_middle_is_an_error() -> None:
    content, starts = three_frames()
    lost = content[: starts[0]] + bytes(starts[2] - starts[0]) + content[starts[2] :]
    with pytest.raises(CorruptionError, match="frame 0"):
        Log(holding(lost), "input")


def test_every_damaged_byte_of_the_last_frame_cuts_it_and_says_so() -> None:
    content, starts = three_frames()
    for position in range(starts[2], starts[3]):
        with Log(holding(flipped(content, position)), "input") as log:
            assert (log.last_step, bool(log.cut)) == (2, True)


def test_a_torn_frame_that_quotes_the_log_itself_is_still_only_torn() -> None:
    content, _ = three_frames()
    backend = holding(content)
    with Log(backend, "input") as log:
        log.append(4, [content, content])
    torn = bytearray(backend.open(FIRST))
    torn[len(content)] ^= 1  # the header is gone, and with it the length of what follows
    with Log(holding(bytes(torn)), "input") as log:
        assert log.last_step == 3


def test_only_the_last_file_may_have_a_torn_tail() -> None:
    content, starts = three_frames()
    backend = holding(content[: starts[3] - 1])
    backend.write_new("input/0000000009.log", [seal(b"PENSTLOG\1\0\0\0\0\0\0\0" + bytes(8) + b"\x09")])
    with pytest.raises(CorruptionError, match="frame 2"):
        list(read_log(backend, "input"))
    with pytest.raises(CorruptionError, match="frame 2"):
        Log(backend, "input")


def test_a_renamed_file_is_found() -> None:
    content, _ = three_frames()
    backend = MemoryBackend()
    backend.write_new("input/0000000000.log", [content])
    with pytest.raises(CorruptionError, match="starts at step 1"):
        list(read_log(backend, "input"))


def test_a_step_that_belongs_into_the_next_file_is_found() -> None:
    content, _ = three_frames()
    backend = holding(content)
    other = MemoryBackend()
    with Log(other, "input") as log:
        log.append(3, [b""])
    backend.write_new("input/0000000003.log", [other.open("input/0000000003.log")])
    with pytest.raises(CorruptionError, match="holds step 3"):
        list(read_log(backend, "input"))


def test_a_format_of_the_future_is_not_called_damage() -> None:
    backend = holding(seal(b"PENSTLOG\x02\0\0\0"))
    with pytest.raises(StorageError, match="log format 2 is not known") as caught:
        Log(backend, "input")
    assert not isinstance(caught.value, CorruptionError)


def test_a_failed_open_does_not_keep_the_log_locked(backend: Backend) -> None:
    content, starts = three_frames()
    backend.write_new(FIRST, [flipped(content, starts[0])])
    for _ in range(2):
        with pytest.raises(CorruptionError):
            Log(backend, "input")


def test_a_step_lower_than_the_one_before_is_found() -> None:
    content = log_header(7, 1)
    for step in (3, 2):
        content += b"".join(bytes(part) for part in frame_parts(7, len(content), step, [b""]))
    with pytest.raises(CorruptionError, match="frame 1 at byte 128 is of step 2, after step 3"):
        Log(holding(content), "input")


class RotatedMeanwhile(MemoryBackend):
    """The owner of the log goes on to another file just before we get hold of the one that was the last."""

    def appender(self, name: str) -> MemoryAppender:
        if name == FIRST:
            self.write_new("input/0000000009.log", [b""])
        return super().appender(name)


def test_a_log_whose_owner_rotates_while_we_open_it_is_left_alone() -> None:
    backend = RotatedMeanwhile()
    backend.write_new(FIRST, [three_frames()[0]])
    with pytest.raises(StorageError, match="another writer"):
        Log(backend, "input")


class FailsAfterPublishing(MemoryBackend):
    """The file is there, but its writer is told it could not be synced."""

    failing = False

    def write_new(self, name: str, parts: Sequence[Part]) -> None:
        super().write_new(name, parts)
        if self.failing:
            raise StorageError("injected")


def test_a_log_that_failed_to_rotate_finds_out_where_to_go_on() -> None:
    backend = FailsAfterPublishing()
    with Log(backend, "input") as log:
        log.append(1, [b"one"])
        backend.failing = True
        with pytest.raises(StorageError, match="injected"):
            log.rotate(5)
        backend.failing = False
        # Step 5 in the old file would be taken for damage, since a file for it exists.
        log.append(5, [b"five"])
    with Log(backend, "input") as log:
        assert contents(log) == [(1, b"one"), (5, b"five")]
