"""The keyed mixing function that all hashing is built from, and the keys it derives from a pipeline's seed.

A value becomes one 64-bit word per lane; a word at position ``k`` becomes ``mix(word ^ key_k)``; members of a
compound (columns of a row, fields of a struct, items of a list, eight-byte words of a string) are *added*
modulo 2^64. Because addition commutes, words can be mixed in any order, so a value has the same hash whether
it is hashed alone, in a slice or together with a million others, and no loop depends on the longest value.

Keys and the first multiplier are secret (derived from the seed with BLAKE2b), so without the seed nobody can
construct collisions; the two lanes share nothing but the word.

Cost: about two nanoseconds per lane and word, in compiled loops (:mod:`.kernel`). Everything in this file is
part of the on-disk format: any change needs a new ``HASH_VERSION``.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b

import numpy as np
from numba import types
from numpy.typing import NDArray

from penstock.zset.kernel import NEW_WORDS, WORDS, Number, inlined, kernel

__all__ = ["HASH_VERSION", "POSITION_STEP", "HashSeed", "LaneKeys", "UInt64s", "lane_keys", "mix", "scramble"]

HASH_VERSION = 1

UInt64s = NDArray[np.uint64]

_MASK = (1 << 64) - 1
# 2^64 / golden ratio: consecutive positions get inputs that are far apart
POSITION_STEP = np.uint64(0x9E3779B97F4A7C15)
_SHIFT_OUTER = np.uint64(32)
_SHIFT_INNER = np.uint64(29)
# The second multipliers are fixed, so that even an unlucky secret one leaves a good mixer.
_SECOND_MULTIPLIERS = {"hi": np.uint64(0xD6E8FEB86659FD93), "lo": np.uint64(0xC2B2AE3D27D4EB4F)}


@dataclass(frozen=True)
class HashSeed:
    """The 128 random bits that make one pipeline's hashes unpredictable; kept in its manifest."""

    hi: int
    lo: int

    def __post_init__(self) -> None:
        if not (0 <= self.hi <= _MASK and 0 <= self.lo <= _MASK):
            raise ValueError("a hash seed is two unsigned 64-bit numbers")

    @classmethod
    def random(cls) -> HashSeed:
        """A new seed from the operating system's randomness."""
        return cls(secrets.randbits(64), secrets.randbits(64))

    @classmethod
    def from_hex(cls, text: str) -> HashSeed:
        """The seed that :meth:`to_hex` wrote."""
        if len(text) != 32:
            raise ValueError(f"a hash seed is 32 hexadecimal digits, not {len(text)} characters")
        return cls(int(text[:16], 16), int(text[16:], 16))

    def to_hex(self) -> str:
        """32 hexadecimal digits, ``hi`` first."""
        return f"{self.hi:016x}{self.lo:016x}"


@dataclass(frozen=True, eq=False)
class LaneKeys:
    """What one of the two lanes derives from the seed; every field is secret except ``second``."""

    first: np.uint64
    second: np.uint64
    null: np.uint64
    length: np.uint64
    start: np.uint64
    decimal: np.uint64
    column_base: int
    field_base: int
    item_base: int
    byte_base: int

    @cached_property
    def mixing(self) -> UInt64s:
        """The multipliers and the word for NULL, as one kernel argument, which is cheaper than three."""
        return np.array([self.first, self.second, self.null], np.uint64)

    def position_key(self, base: int, position: int) -> UInt64s:
        """The key of the ``position``-th member under ``base`` (a ``*_base`` field), as an array of one
        element."""
        return _position_key(self, base, position)

    def position_keys(self, base: int, positions: UInt64s) -> UInt64s:
        """The keys of many positions at once: the same function as :meth:`position_key`."""
        keys = positions * POSITION_STEP
        keys += np.uint64(base)
        mix(keys, self.mixing)
        return keys


@lru_cache(maxsize=64)
def lane_keys(seed: HashSeed) -> tuple[LaneKeys, LaneKeys]:
    """The keys of the ``hi`` and the ``lo`` lane under ``seed``."""
    return _derive(seed, "hi"), _derive(seed, "lo")


@lru_cache(maxsize=4096)  # a step of a few rows would otherwise spend most of its time here
def _position_key(keys: LaneKeys, base: int, position: int) -> UInt64s:
    return keys.position_keys(base, np.array([position], np.uint64))


def _derive(seed: HashSeed, lane: str) -> LaneKeys:
    secret = bytes.fromhex(seed.to_hex())

    def number(name: str) -> int:
        text = f"penstock hash {HASH_VERSION} {lane} {name}".encode()
        return int.from_bytes(blake2b(text, key=secret, digest_size=8).digest(), "little")

    return LaneKeys(
        first=np.uint64(number("first multiplier") | 1),
        second=_SECOND_MULTIPLIERS[lane],
        null=np.uint64(number("null")),
        length=np.uint64(number("length") | 1),
        start=np.uint64(number("start")),
        decimal=np.uint64(number("decimal")),
        column_base=number("columns"),
        field_base=number("fields"),
        item_base=number("items"),
        byte_base=number("bytes"),
    )


@inlined
def scramble(word: Number, first: Number, second: Number) -> Number:
    """A bijection of 64-bit words in which every input bit reaches every output bit."""
    word ^= word >> _SHIFT_OUTER
    word *= first
    word ^= word >> _SHIFT_INNER
    word *= second
    return word ^ (word >> _SHIFT_OUTER)


@kernel(types.void(NEW_WORDS, WORDS))
def mix(words: UInt64s, mixing: UInt64s) -> None:
    """Scramble ``words`` in place with a lane's numbers (:attr:`LaneKeys.mixing`)."""
    first, second = mixing[0], mixing[1]
    for i in range(len(words)):
        words[i] = scramble(words[i], first, second)
