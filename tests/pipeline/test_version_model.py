"""A model of retention: which versions, segments, pages and log files are there after commits, crashes,
restores and changes of mind about how many to keep."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from penstock.pipeline.checking import check_folder
from penstock.pipeline.garbage import written_for
from penstock.pipeline.restore import plan_restore, restore
from penstock.pipeline.retention import Retain
from penstock.pipeline.store import PipelineStore
from penstock.pipeline.stored_state import LOG_FILE, branch_of
from penstock.pipeline.version_list import versions_in
from penstock.storage import BatchRef, ChangeBlock, ChangeSegment, VersionStore, read_log, version_store
from tests.pipeline.faults import Crash, CrashingBackend

STRANGERS = (
    "notes.txt",
    "segments/notes.txt",
    "segments/0000000001-mine.seg",
    "segments/0000000001-w0000-0123456789ab.seg.bak",
    "changes/0000000001-mine.json",
    "skipped/0000000000-mine",
    "input/readme",
    "manifest/1.json",
)


@dataclass(frozen=True)
class Known:
    """A version as the model knows it."""

    number: int
    step: int
    segments: frozenset[str]


class Versions(RuleBasedStateMachine):
    """The store against a list of versions. The clock ticks a second for every version."""

    def __init__(self) -> None:
        super().__init__()
        self.backend = CrashingBackend()
        self.store: PipelineStore | None = None
        self.known: list[Known] = []  # all that should be openable, oldest first
        self.inputs: dict[int, bytes] = {}  # of the current branch, by step
        self.step = self.drawn = 0
        self.live: tuple[str, ...] = ()
        self.retained = self.asked = 2  # what is asked for holds from the next version on
        self.branch_step = 0

    @initialize(chain=st.sampled_from([0, 2, 64]))
    def begin(self, chain: int) -> None:
        self._chain, version_store.CHAIN = version_store.CHAIN, chain
        for name in STRANGERS:
            self.backend.write_new(name, [b"mine"])
        self.open(None)
        self.commit(1, 0)

    def teardown(self) -> None:
        version_store.CHAIN = getattr(self, "_chain", version_store.CHAIN)

    # ---- what happens ------------------------------------------------------------------------------

    @precondition(lambda self: self.store is None)
    @rule(retain=st.none() | st.integers(2, 5))
    def open(self, retain: int | None) -> None:
        self.asked = retain or self.retained
        self.store = PipelineStore(self.backend, "p", Retain(retain, None))
        self.store.open_log()
        assert self.store.recorded_step == self.step, "what was acknowledged is there"
        assert [bytes(frame) for _, frame in self.store.recorded(self.store.step)] == [
            self.inputs[step] for step in range(self.store.step + 1, self.step + 1)
        ]
        if self.known:
            assert self.store.version.number == self.known[-1].number

    @precondition(lambda self: self.store is not None)
    @rule()
    def run_step(self) -> None:
        assert self.store is not None
        self.drawn += 1
        content = b"%d" % self.drawn
        self.store.record(self.step + 1, [content])
        self.step += 1
        self.inputs[self.step] = content

    @precondition(lambda self: self.store is not None)
    @rule(new=st.integers(0, 2), merged=st.integers(0, 3))
    def commit(self, new: int, merged: int) -> None:
        self._commit(new, merged)

    def _commit(self, new: int, merged: int) -> None:
        """A version with some new segments, some of the old ones replaced."""
        assert self.store is not None
        before, version = self.store.version, self.store.next_version()
        made = tuple(self._segment(version.number) for _ in range(new))
        live = (*self.live[merged:], *made)
        changes = before.changes
        if self.step > before.step:
            name = self._segment(version.number)
            changes = (*changes, ChangeSegment(name, before.step, self.step, (ChangeBlock("v", 0),)))
        after = max(before.changes_after, self.step - 3)
        version = replace(
            version,
            step=self.step,
            arrangements={"s": tuple(BatchRef(name, 0, 0, 1) for name in sorted(live))},
            pages=tuple(page for page in before.pages if page.last > after),
            changes=tuple(found for found in changes if found.last > after),
            changes_after=after,
        )
        self.store.publish(version)
        self.store.adopt()
        self.live = live
        self._learn(self.store)
        self.store.rotate_log()
        self.store.clean()

    def _learn(self, store: PipelineStore) -> None:
        version = store.version
        self.known.append(Known(version.number, version.step, frozenset(store.segments(version))))
        self.retained = self.asked
        self.known = self.known[-self.retained :]

    def _segment(self, version: int) -> str:
        self.drawn += 1
        name = f"segments/{version:010d}-w0000-{self.drawn:012x}.seg"
        self.backend.write_new(name, [b"x" * self.drawn])
        return name

    @precondition(lambda self: self.store is not None)
    @rule()
    def stop(self) -> None:
        assert self.store is not None
        self.store.close()
        self.store = None

    @precondition(lambda self: self.store is not None)
    @rule(at=st.integers(1, 14), new=st.integers(0, 2), merged=st.integers(0, 3))
    def crash_while_committing(self, at: int, new: int, merged: int) -> None:
        assert self.store is not None
        known, live = self.known, self.live
        self.backend.at = self.backend.writes + at
        with suppress(Crash):
            self._commit(new, merged)
        self._killed(known, live)

    @precondition(lambda self: self.store is None)
    @rule(back=st.integers(0, 4))
    def go_back(self, back: int) -> None:
        self._restored(self.known[max(0, len(self.known) - 1 - back)])

    @precondition(lambda self: self.store is None)
    @rule(back=st.integers(0, 4), at=st.integers(1, 25))
    def crash_while_going_back(self, back: int, at: int) -> None:
        target = self.known[max(0, len(self.known) - 1 - back)]
        newest = self.known[-1].number
        self.backend.at = self.backend.writes + at
        with suppress(Crash):
            restore(self.backend, target.number)
        self.backend.survive()
        if VersionStore(self.backend).numbers()[-1] > newest:
            self._went_back(target)
            PipelineStore(self.backend, "p").open_log()  # whoever opens it next finishes
            self.backend.survive()

    def _restored(self, target: Known) -> None:
        plan = plan_restore(self.backend, target.number)
        assert (plan.version.step, plan.last_step) == (target.step, self.step)
        assert plan.lost_versions == tuple(k.number for k in self.known if k.number > target.number)
        stale = {
            n for n in self.backend.list() if (branch_of(n) or 0) > plan.newest
        }  # of one that was killed
        before = {n for n in self.backend.list() if not n.startswith("discarded/")} - stale
        restore(self.backend, target.number)
        gone = before - set(self.backend.list())
        folder = f"discarded/restore-{self.known[-1].number + 1:010d}/"
        kept = {name.removeprefix(folder) for name in self.backend.list(folder)}
        assert gone == kept, "what was taken out is there, and nothing else"
        self._went_back(target)

    def _went_back(self, target: Known) -> None:
        newest = self.known[-1].number + 1
        self.known = [k for k in self.known if k.number <= target.number]
        self.known = [*self.known, replace(target, number=newest)][-self.retained :]
        version = VersionStore(self.backend).load(newest)
        self.live = tuple(sorted(ref.segment for ref in version.batches()))
        self.inputs, self.step, self.branch_step = {}, target.step, target.step

    def _killed(self, known: list[Known], live: tuple[str, ...]) -> None:
        """After a crash it is seen whether the version was published, in which case it counts."""
        self.backend.survive()
        self.store, newest = None, VersionStore(self.backend).newest()
        assert newest is not None
        if self.known is known and newest.number > known[-1].number:
            self.live = tuple(sorted(ref.segment for ref in newest.batches()))
            store = PipelineStore(self.backend, "p")
            self._learn(store)
        elif self.known is known:
            self.live = live

    # ---- what must hold ----------------------------------------------------------------------------

    @precondition(lambda self: self.known)
    @invariant()
    def versions_can_be_opened(self) -> None:
        found = versions_in(self.backend)
        assert [(info.number, info.step) for info in found] == [(k.number, k.step) for k in self.known]
        assert all(info.is_openable for info in found), found
        assert [info.is_newest for info in found] == [False] * (len(found) - 1) + [True]
        store = VersionStore(self.backend)
        for known, info in zip(self.known, found, strict=True):
            assert store.segments(store.load(known.number)) == known.segments
            others = frozenset().union(*(k.segments for k in self.known if k is not known))
            assert info.own_bytes == sum(self.backend.size(name) for name in known.segments - others)
            assert info.shared_bytes == sum(self.backend.size(name) for name in known.segments & others)

    @precondition(lambda self: self.known)
    @invariant()
    def strangers_are_left_alone(self) -> None:
        assert set(STRANGERS) <= set(self.backend.list())

    @precondition(lambda self: self.known)
    @invariant()
    def the_log_reaches_back_to_the_oldest_version(self) -> None:
        newest = VersionStore(self.backend).newest()
        assert newest is not None
        folder = f"input-{newest.branch:010d}" if newest.branch else "input"
        steps = {step: bytes(frame) for step, frame in read_log(self.backend, folder)}
        needed = max(self.known[0].step, self.branch_step) + 1
        assert {step: self.inputs[step] for step in range(needed, self.step + 1)}.items() <= steps.items()

    @precondition(lambda self: self.store is not None and self.known)
    @rule()
    def nothing_else_is_left_after_two_more_versions(self) -> None:
        """A file of a failed attempt may have the number of the next version: it goes with the second."""
        for _ in range(2):
            self._commit(1, 1)
        needed: set[str] = set()
        store = VersionStore(self.backend)
        for known in self.known:
            needed |= store.files(store.load(known.number))
        present = {name for name in self.backend.list() if written_for(name) >= 0}
        assert present == needed
        logs = [name for name in self.backend.list("input") if LOG_FILE.fullmatch(name)]
        assert {branch_of(name) for name in logs} == {store.load(self.known[-1].number).branch}
        notes = {note.file: note.what for note in check_folder(self.backend).notes}
        assert {name: notes[name] for name in STRANGERS} == dict.fromkeys(STRANGERS, "not a file of Penstock")


TestVersions = Versions.TestCase
TestVersions.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)
