"""Ways in which a stored file can be damaged. Each is a function of the file and a source of randomness."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

PAGE = 4096
FOLDERS = ("segments", "manifest", "changes", "metrics", "input", "acknowledged")
_SHARES = (10, 4, 3, 1, 5, 2)  # how often each folder is chosen


@dataclass(frozen=True)
class Damage:
    """What was done to which file."""

    kind: str
    file: str

    @property
    def folder(self) -> str:
        return self.file.partition("/")[0]


def _flip(path: Path, rng: random.Random) -> None:
    content = bytearray(path.read_bytes())
    if not content:
        content = bytearray(1)
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        content[_position(len(content), rng)] ^= 1 << rng.randrange(8)
    path.write_bytes(content)


def _position(size: int, rng: random.Random) -> int:
    """Anywhere, but as often near the ends, where headers and trailers are."""
    near = min(size, 192)
    return rng.choice((rng.randrange(size), rng.randrange(near), size - 1 - rng.randrange(near)))


def _truncate(path: Path, rng: random.Random) -> None:
    content = path.read_bytes()
    keep = rng.randrange(len(content)) if content else 0
    path.write_bytes(content[: keep // 64 * 64 if rng.random() < 0.5 else keep])


def _empty(path: Path, rng: random.Random) -> None:
    path.write_bytes(b"")


def _missing(path: Path, rng: random.Random) -> None:
    path.unlink()


def _append(path: Path, rng: random.Random) -> None:
    garbage = rng.choice((bytes(64), bytes(PAGE), rng.randbytes(rng.randrange(1, 300)), path.read_bytes()))
    path.write_bytes(path.read_bytes() + garbage)


def _zero(path: Path, rng: random.Random) -> None:
    content = bytearray(path.read_bytes())
    start = rng.randrange(max(1, len(content))) // PAGE * PAGE
    stop = min(len(content), start + PAGE * rng.randrange(1, 4))
    content[start:stop] = bytes(stop - start)
    path.write_bytes(content)


def _swap(path: Path, rng: random.Random) -> None:
    """Another sound file of the folder, of any kind, stands under this name."""
    root = path.parents[1]
    others = [other for folder in FOLDERS for other in sorted((root / folder).glob("*")) if other != path]
    same = [other for other in others if other.parent == path.parent]
    content = rng.choice(same if same and rng.random() < 0.7 else others).read_bytes()
    path.unlink()
    path.write_bytes(content)


def _duplicate(path: Path, rng: random.Random) -> None:
    """The file is there a second time, under a name of the same form."""
    match = re.match(r"(\d{10})(.*)", path.name)
    assert match is not None
    number = int(match[1]) + rng.choice((-2, -1, 1, 2, 7))
    number += 3 if number < 0 else 0
    target = path.with_name(f"{number:010d}{match[2]}")
    if target == path:
        return
    target.unlink(missing_ok=True)
    shutil.copyfile(path, target)


def _older(path: Path, rng: random.Random) -> None:
    """What the file was earlier: of a log fewer frames, of others the file before it."""
    if path.suffix == ".log":
        content = path.read_bytes()
        frames = [found.start() for found in re.finditer(b"PENSTFRM", content) if found.start() % 64 == 0]
        path.write_bytes(content[: rng.choice(frames)] if frames else content)
        return
    before = [other for other in sorted(path.parent.iterdir()) if other < path]
    content = (before[-1] if before else path).read_bytes()
    path.unlink()
    path.write_bytes(content)


KINDS: dict[str, Callable[[Path, random.Random], None]] = {
    "bit flips": _flip,
    "truncated": _truncate,
    "missing": _missing,
    "swapped": _swap,
    "duplicated": _duplicate,
    "older": _older,
    "empty": _empty,
    "garbage appended": _append,
    "zeroed pages": _zero,
}
FOREIGN = "of another pipeline"
_WEIGHTS = (6, 3, 2, 3, 2, 2, 1, 2, 3, 2)


def chosen(root: Path, rng: random.Random) -> Damage:
    """A file of a state folder, and what is to happen to it."""
    while True:
        [folder] = rng.choices(FOLDERS, _SHARES)
        files = sorted((root / folder).glob("*"))
        if files:
            [kind] = rng.choices([*KINDS, FOREIGN], _WEIGHTS)
            return Damage(kind, f"{folder}/{rng.choice(files).name}")


def copied(source: Path, target: Path, damaged: str) -> None:
    """A state folder again. Files that never change are hard links; logs, and what will be damaged, are
    copies."""
    for path in source.rglob("*"):
        name = path.relative_to(source).as_posix()
        if path.is_dir() or name.startswith("."):
            continue
        place = target / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".log" or name == damaged:
            shutil.copyfile(path, place)
        else:
            place.hardlink_to(path)


def inflict(root: Path, damage: Damage, rng: random.Random, others: Sequence[Path]) -> None:
    """Damages a copy. Files are replaced or copies, so the original stays sound. ``others`` are folders of
    other pipelines."""
    path = root / damage.file
    if damage.kind != FOREIGN:
        KINDS[damage.kind](path, rng)
        return
    files = sorted((rng.choice(others) / damage.folder).glob("*"))
    same = [other for other in files if other.name == path.name]
    content = rng.choice(same or files).read_bytes()
    path.unlink()
    path.write_bytes(content)
