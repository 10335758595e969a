"""Versions on disk: each costs what changed in it, and any of them comes back as it was."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from penstock.errors import CorruptionError
from penstock.storage import (
    Backend,
    BatchRef,
    ChangeBlock,
    ChangeSegment,
    MemoryBackend,
    Unreadable,
    Version,
    VersionStore,
    newest_version,
)
from penstock.storage.change_pages import FAN, due_for_merging
from penstock.storage.version_store import CHAIN
from tests.storage.test_version import GOLDEN

VIEWS = [f"view number {n}" for n in range(20)]
FIRST = Version(
    0,
    "p",
    1,
    "00",
    arrangements={f"{n:024d}.0": () for n in range(60)},
    catalog={"relations": ["CREATE …" * 20] * 20},
)


def following(before: Version, retained: int = 1000) -> Version:
    """The version after the next step, which changes three arrangements and five views."""
    number = before.number + 1
    segment = f"segments/{number:010d}-w0000-{number:012x}.seg"
    arrangements = dict(before.arrangements)
    for slot in list(arrangements)[number % 57 : number % 57 + 3]:
        arrangements[slot] = (*arrangements[slot][-4:], BatchRef(segment, 0, 0, number, number))
    blocks = tuple(ChangeBlock(view, n, number) for n, view in enumerate(VIEWS[number % 15 :][:5]))
    after = max(0, number - retained)
    changes = tuple(found for found in before.changes if found.last > after)
    return replace(
        before,
        number=number,
        step=number,
        oldest=max(0, number - 1),
        arrangements=arrangements,
        pages=tuple(page for page in before.pages if page.last > after),
        changes=(*changes, ChangeSegment(segment, number - 1, number, blocks)),
        changes_after=after,
        times=tuple(time for time in (*before.times, (number, 10**15 + number)) if time[0] > after),
    )


def publish(store: VersionStore, version: Version) -> Version:
    prepared = store.prepare(version)
    store.publish(prepared)
    store.adopt(prepared)
    return prepared.version


def history(backend: Backend, count: int, retained: int = 1000) -> list[Version]:
    """That many versions, each published after the one before."""
    store, made = VersionStore(backend), [FIRST]
    for _ in range(count):
        made.append(publish(store, following(made[-1], retained)))
    return made[1:]


def test_every_version_comes_back_as_it_was(backend: Backend) -> None:
    made = history(backend, CHAIN + 10)
    assert newest_version(backend) == made[-1]
    store = VersionStore(backend)
    assert [store.load(version.number) for version in made] == made
    assert store.latest() == made[-1]
    assert list(store.load_each([version.number for version in made[4:-1]])) == made[4:-1][::-1]
    oldest = replace(made[-1], oldest=5)
    assert store.earlier(oldest) == tuple(version.mark for version in made[4:-1])
    recorded = replace(oldest, earlier=(made[7].mark,))
    assert store.earlier(recorded) == (made[7].mark,)


def test_most_versions_are_small_and_some_are_whole() -> None:
    backend = MemoryBackend()
    history(backend, 200)
    whole = [n for n in VersionStore(backend).numbers() if VersionStore(backend).whole_of(n) == n]
    sizes = {n: backend.size(f"manifest/{n:010d}.json") for n in range(1, 201)}
    assert 2 < len(whole) < 20
    largest = max(size for n, size in sizes.items() if n not in whole)
    assert largest < 1200 < min(sizes[n] for n in whole) / 3
    assert max(b - a for a, b in pairwise(whole)) <= CHAIN + 1


def test_another_process_continues_the_chain() -> None:
    backend = MemoryBackend()
    made = history(backend, 3)
    store = VersionStore(backend)
    assert store.latest() == made[-1]
    more = publish(store, following(made[-1]))
    assert store.whole_of(more.number) == 1
    assert newest_version(backend) == more


def test_changes_of_a_view_are_found_in_pages_and_in_the_version() -> None:
    backend = MemoryBackend()
    version = history(backend, 150)[-1]
    store = VersionStore(backend)
    assert version.pages and version.changes
    every = list(store.changes(version))
    assert [found.last for found in every] == list(range(1, 151))
    for since in (0, 40, 149, 150):
        expected = [(f.segment, b) for f in every if f.last > since for b in f.of_view(VIEWS[4])]
        assert list(store.changes_of(version, VIEWS[4], since)) == expected


def test_changes_that_are_too_old_are_not_referred_to_and_their_pages_go() -> None:
    backend = MemoryBackend()
    made = history(backend, 400, retained=30)
    store, version = VersionStore(backend), made[-1]
    assert [found.last for found in store.changes(version)] == list(range(371, 401))
    assert all(page.last > 370 for page in version.pages)
    assert store.files(version) == store.segments(version) | {page.name for page in version.pages}


def test_the_manifests_that_a_version_is_read_from_stay() -> None:
    backend = MemoryBackend()
    made = history(backend, 100)
    store = VersionStore(backend)
    store.prune(80)
    assert store.numbers() == list(range(store.whole_of(80), 101)) and store.numbers()[0] > 1
    assert newest_version(backend) == made[-1] and store.load(80) == made[79]


def test_there_are_few_pages_and_references_are_seldom_rewritten() -> None:
    sizes: list[int] = []
    written = 0
    for _ in range(5000):
        count = due_for_merging([*sizes, 1])
        made = sum(sizes[len(sizes) - count + 1 :], 1) if count else 1
        sizes = [*(sizes[: len(sizes) - count + 1] if count else sizes), made]
        written += made
        assert len(sizes) <= FAN * 5
    assert sum(sizes) == 5000
    assert written <= 6 * 5000


@pytest.mark.parametrize("number", [1, 4, 9])
@pytest.mark.parametrize("how", ["missing", "damaged"])
def test_a_bad_link_of_the_chain_is_named(number: int, how: str) -> None:
    backend = MemoryBackend()
    history(backend, 9)
    name = f"manifest/{number:010d}.json"
    content = bytes(backend.open(name))
    backend.delete(name)
    if how == "damaged":
        backend.write_new(name, [content.replace(b'"step"', b'"stop"', 1)])
    if (number, how) == (9, "missing"):
        assert newest_version(backend) == VersionStore(backend).load(8)
        return
    with pytest.raises(CorruptionError, match=f"{number:010d}.json.*{how}"):
        newest_version(backend)


@pytest.mark.parametrize("how", ["missing", "damaged", "another", "manifest"])
def test_a_bad_page_is_named(how: str) -> None:
    backend = MemoryBackend()
    version = history(backend, 150)[-1]
    name, other = version.pages[0].name, version.pages[-1].name
    content = bytes(backend.open(name))
    backend.delete(name)
    if how == "damaged":
        backend.write_new(name, [content[:-1]])
    if how == "another":
        backend.write_new(name, [backend.open(other)])
    if how == "manifest":
        backend.write_new(name, [backend.open("manifest/0000000003.json")])
    with pytest.raises(CorruptionError, match=f"{name}: .*({how}|misplaced|Another file)"):
        list(VersionStore(backend).changes(version))


def test_a_page_in_the_place_of_a_manifest_is_named() -> None:
    backend = MemoryBackend()
    version = history(backend, 150)[-1]
    name = f"manifest/{version.number:010d}.json"
    backend.delete(name)
    backend.write_new(name, [backend.open(version.pages[0].name)])
    with pytest.raises(CorruptionError, match=f"{name}: this is not the manifest of version"):
        VersionStore(backend).latest()


def test_what_was_prepared_can_be_published_again() -> None:
    """An attempt that failed half way may have written the page."""
    backend = MemoryBackend()
    made = history(backend, 20)
    store = VersionStore(backend)
    store.latest()
    number = made[-1].number
    while not store.prepare(following(made[-1])).pages:
        made.append(publish(store, following(made[-1])))
    first, again = store.prepare(following(made[-1])), store.prepare(following(made[-1]))
    assert first == again and not store.holds(first) and made[-1].number > number
    backend.write_new(first.pages[0].ref.name, [first.pages[0].content])
    store.publish(again)
    assert store.holds(first)
    assert newest_version(backend) == first.version


def test_a_version_of_format_1_is_followed_by_a_whole_one() -> None:
    backend = MemoryBackend()
    backend.write_new("manifest/0000000003.json", [GOLDEN.read_bytes()])
    store = VersionStore(backend)
    old = store.latest()
    assert old is not None and len(old.changes) == 3 and not old.pages
    new = publish(store, following(old))
    assert store.whole_of(4) == 4
    assert [found.segment for found in store.changes(new)] == [
        *(found.segment for found in old.changes),
        "segments/0000000004-w0000-000000000004.seg",
    ]
    assert newest_version(backend) == new
    publish(store, following(new))
    assert store.whole_of(5) == 4


def test_versions_are_read_one_by_one_around_those_that_cannot_be() -> None:
    backend = MemoryBackend()
    made = history(backend, 60)
    store = VersionStore(backend)
    whole = store.whole_of(60)
    backend.delete(f"manifest/{whole - 2:010d}.json")
    found = list(store.load_each(range(whole - 4, 61)))
    bad = [each.number for each in found if isinstance(each, Unreadable)]
    assert bad == [whole - 1, whole - 2]
    good = [each for each in found if not isinstance(each, Unreadable)]
    assert good == [*made[whole - 1 :][::-1], made[whole - 4], made[whole - 5]]


def test_older_versions_that_cannot_be_read_do_not_harm_the_newest() -> None:
    backend = MemoryBackend()
    made = history(backend, 60)
    store = VersionStore(backend)
    whole = store.whole_of(60)
    assert 3 < whole < 58
    backend.delete(f"manifest/{whole - 2:010d}.json")
    latest = replace(made[-1], oldest=whole - 4)
    assert [found.number for found in store.earlier(latest)] == list(range(whole, 60))
