"""The log against a list: any mix of appends, rotations, drops, crashes and torn tails."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from penstock.storage import Log, MemoryBackend, read_log

payloads = st.lists(st.binary(max_size=200), max_size=4)


class LogMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.backend = MemoryBackend()
        self.log = Log(self.backend, "input")
        self.model: list[tuple[int, bytes]] = []
        self.next = 0  # the lowest step that may be appended
        self.dropped = 0
        self.torn = False  # whether a crash left something that the next write cuts

    @rule(ahead=st.integers(0, 3), parts=payloads)
    def append(self, ahead: int, parts: list[bytes]) -> None:
        step = self.next + ahead
        self.log.append(step, parts)
        self.torn = False
        self.model.append((step, b"".join(parts)))
        self.next = step

    @rule(ahead=st.integers(1, 3))
    def rotate(self, ahead: int) -> None:
        self.next += ahead
        self.log.rotate(self.next)
        self.torn = False

    @rule(step=st.integers(0, 60))
    def drop(self, step: int) -> None:
        self.log.drop_before(step)
        self.dropped = max(self.dropped, step)

    @rule()
    def reopen(self) -> None:
        self.log.close()
        self.log = Log(self.backend, "input")
        assert bool(self.log.cut) == self.torn

    @rule(noise=st.binary(min_size=1, max_size=300))
    def crash_while_appending(self, noise: bytes) -> None:
        self.log.close()
        if files := self.backend.list("input/"):
            self.torn = True
            appender = self.backend.appender(files[-1])
            appender.append([noise])
            appender.close()
        self.log = Log(self.backend, "input")
        assert bool(self.log.cut) == self.torn

    @invariant()
    def holds_what_was_acknowledged(self) -> None:
        found = [(step, bytes(payload)) for step, payload in read_log(self.backend, "input")]
        # Files are dropped whole, so older frames may linger; what is left is a tail of the model.
        assert found == self.model[len(self.model) - len(found) :]
        assert all(step < self.dropped for step, _ in self.model[: len(self.model) - len(found)])
        wanted = [frame for frame in self.model if frame[0] >= self.dropped]
        assert [(s, bytes(p)) for s, p in self.log.read(self.dropped)] == wanted

    def teardown(self) -> None:
        self.log.close()


TestLogModel = LogMachine.TestCase
TestLogModel.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
