"""A delta holds all that changed, and nothing that did not."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.storage import (
    BatchRef,
    ChangeBlock,
    ChangeSegment,
    EarlierVersion,
    PageRef,
    Retention,
    StoredLayout,
    Version,
    sorted_refs,
)
from penstock.storage.delta import Slid, apply, delta
from penstock.storage.version_json import (
    delta_from_json,
    delta_to_json,
    version_from_json,
    version_to_json,
)

SMALL = st.integers(0, 3)
NAMES = st.sampled_from(["segments/a.seg", "segments/b.seg", "segments/c.seg"])
CRC = st.none() | st.integers(0, 2**32 - 1)
REFS = st.lists(st.builds(BatchRef, NAMES, SMALL, SMALL, SMALL, CRC), max_size=4).map(sorted_refs)
BLOCKS = st.lists(st.builds(ChangeBlock, st.sampled_from(["v", "w"]), SMALL, CRC), max_size=3).map(
    # a segment has the blocks of one view together
    lambda blocks: tuple(sorted(blocks, key=lambda block: block.view))
)
CHANGES = st.lists(st.builds(ChangeSegment, NAMES, SMALL, SMALL, BLOCKS), max_size=4).map(tuple)
PAGES = st.lists(st.builds(PageRef, st.sampled_from(["changes/a", "changes/b"]), SMALL, SMALL, SMALL, SMALL))
LAYOUT = st.none() | st.builds(StoredLayout, SMALL, st.lists(SMALL, max_size=6).map(tuple))
VERSIONS = st.builds(
    Version,
    st.integers(0, 9),
    st.just("p"),
    st.just(1),
    st.just("00"),
    step=SMALL,
    made_us=SMALL,
    oldest=SMALL,
    arrangements=st.dictionaries(st.sampled_from(["x.0", "y.0", "z.0"]), REFS),
    pages=PAGES.map(tuple),
    changes=CHANGES,
    changes_after=SMALL,
    times=st.lists(st.tuples(SMALL, SMALL), max_size=5).map(tuple),
    static_frozen=st.booleans(),
    catalog=st.none() | st.dictionaries(st.sampled_from("ab"), SMALL),
    layout=LAYOUT,
    earlier=st.none() | st.lists(st.builds(EarlierVersion, SMALL, SMALL, SMALL), max_size=4).map(tuple),
    retention=st.builds(Retention, st.integers(2, 4), SMALL),
    branch=st.just(3),
)


def through_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


@given(VERSIONS, VERSIONS)
def test_a_delta_applied_to_the_version_before_gives_the_version_after(a: Version, b: Version) -> None:
    assert apply(delta(a, b), a) == b


@given(VERSIONS, VERSIONS)
def test_deltas_and_versions_come_back_from_json(a: Version, b: Version) -> None:
    change = delta(a, b)
    assert delta_from_json(b.number, through_json(delta_to_json(change))) == change
    assert version_from_json(b.number, through_json(version_to_json(b))) == b


@given(st.lists(SMALL), st.lists(SMALL))
def test_of_a_sequence_as_little_as_possible_is_dropped(a: list[int], b: list[int]) -> None:
    slid = Slid.of(a, b)
    assert list(slid.of_sequence(a)) == b
    for fewer in range(slid.dropped):
        assert a[fewer:] != b[: len(a) - fewer]


def test_what_did_not_change_is_not_in_the_delta() -> None:
    kept = (BatchRef("segments/a.seg", 0, 0, 9, 1), BatchRef("segments/b.seg", 0, 0, 5, 2))
    before = Version(
        1,
        "p",
        1,
        "00",
        arrangements={"x.0": kept, "y.0": kept},
        changes=(ChangeSegment("segments/c.seg", 0, 1, ()),),
        times=((1, 10), (2, 20)),
        catalog={"a": 1},
    )
    new = BatchRef("segments/d.seg", 0, 0, 2, 3)
    after = replace(
        before,
        number=2,
        arrangements={"x.0": (kept[1], new), "y.0": kept},
        times=((2, 20), (3, 30)),
        catalog={"a": 1},
    )
    found = delta_to_json(delta(before, after))
    assert found["arrangements"] == {"x.0": [[0], [[0, 0, 0, 2, 3]]]}
    assert found["segments"] == ["segments/d.seg"]
    assert found["changes"] == found["pages"] == [0, []]
    assert found["times"] == [1, ((3, 30),)]
    assert "catalog" not in found and "layout" not in found


def test_a_delta_is_between_two_versions_of_one_pipeline() -> None:
    for other in (Version(2, "q", 1, "00"), Version(2, "p", 1, "00", branch=2)):
        with pytest.raises(ValueError, match="one pipeline and branch"):
            delta(Version(1, "p", 1, "00"), other)
