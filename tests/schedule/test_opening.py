"""What the coordinator and the workers tell each other about versions arrives as it was sent."""

from __future__ import annotations

from penstock.schedule.opening import Opening, Written, WrittenChanges
from penstock.storage import BatchRef, ChangeBlock, Version
from tests.schedule.inline import shipped

REFS = (BatchRef("segments/a.seg", 0, 3, 9, 7), BatchRef("segments/b.seg", 1, 0, 2))


def test_an_opening_arrives_as_it_was_sent() -> None:
    for opening in (Opening(), Opening(5, {"x.0": REFS, "y.0": ()}, ("z.0",))):
        assert shipped(opening) == opening


def test_what_was_written_arrives_as_it_was_sent() -> None:
    changes = WrittenChanges(
        "segments/c.seg", (ChangeBlock("v", 0, 4), ChangeBlock("v", 1), ChangeBlock("w", 2))
    )
    for written in (Written(3, {}), Written(0, {"x.0": REFS}, changes, {"x.0": (8, 640)})):
        assert shipped(written) == written


def test_arrangements_that_a_version_lacks_are_missing_and_others_are_not() -> None:
    version = Version(4, "p", 1, "00", arrangements={"a.0": REFS, "gone.0": ()})
    assert Opening.of(version, ["b.0", "a.0"]) == Opening(4, version.arrangements, ("b.0",))
    assert Opening.of(version).missing == ()
