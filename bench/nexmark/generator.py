"""Nexmark's events, each a function of its number alone.

Of every 50 events one is a new person, three are new auctions and 46 are bids. Each random choice is a hash
of the event's number and the purpose of the choice, so any range of events can be made at any time, in any
order and in parallel, and is always the same. Half of the bids go to a hot auction, three in four come from a
hot bidder, three in four auctions belong to a hot seller. Everything is vectorised over a range of events.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

__all__ = ["Events", "side_input"]

Ints = NDArray[np.int64]
Columns = dict[str, pa.Array]

PEOPLE, AUCTIONS, BIDS = 1, 3, 46
EPOCH = PEOPLE + AUCTIONS + BIDS
HOT_AUCTION, HOT_SELLER, HOT_BIDDER = 2, 4, 4  # all but one in so many choose the hot one
IN_FLIGHT, ACTIVE = 100, 1000
FIRST_PERSON, FIRST_AUCTION, FIRST_CATEGORY, CATEGORIES = 1000, 1000, 10, 5
SIDE_INPUT = 1000
_HOT_EVERY = 100  # one in so many ids is hot
_LEAD = 10  # bids and auctions may name ids that do not exist yet, up to so many ahead
_START = 1_436_918_400_000_000  # 2015-07-15 00:00 UTC in microseconds
_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
_OTHER_CHANNELS = 10_000
_FIRST_NAMES = ("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Walter")
_LAST_NAMES = ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")
_STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
_CITIES = ("Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle")


@dataclass(frozen=True)
class Events:
    """The events of one seed at ``rate`` events per second of their own time."""

    seed: int = 1
    rate: int = 100

    def tables(self, start: int, stop: int) -> dict[str, Columns]:
        """The rows of the events from ``start`` to before ``stop``, by table."""
        number = np.arange(start, stop)
        place = number % EPOCH
        return {
            "person": self._people(number[place < PEOPLE]),
            "auction": self._auctions(number[(place >= PEOPLE) & (place < PEOPLE + AUCTIONS)]),
            "bid": self._bids(number[place >= PEOPLE + AUCTIONS]),
        }

    def _people(self, number: Ints) -> Columns:
        digits = [self._below(number, f"card {i}", 10_000) for i in range(4)]
        card = [pc.utf8_lpad(pa.array(part).cast(pa.string()), 4, "0") for part in digits]
        mail = [self._text(number, "mailbox", 7), self._text(number, "host", 5)]
        return {
            "id": pa.array(_last_person(number) + FIRST_PERSON),
            "name": _joined(
                self._pick(number, "first name", _FIRST_NAMES), self._pick(number, "last name", _LAST_NAMES)
            ),
            "email_address": _joined(_joined(*mail, separator="@"), _repeat("com", number), separator="."),
            "credit_card": _joined(*card),
            "city": self._pick(number, "city", _CITIES),
            "state": self._pick(number, "state", _STATES),
            "date_time": _times(self._time(number)),
            "extra": self._text(number, "extra", 40),
        }

    def _auctions(self, number: Ints) -> Columns:
        hot = self._below(number, "hot seller", HOT_SELLER) > 0
        hot_seller = _last_person(number) // _HOT_EVERY * _HOT_EVERY
        first = self._price(number, "first bid")
        opened = self._time(number)
        horizon = self._time(number + IN_FLIGHT * EPOCH // AUCTIONS) - opened
        return {
            "id": pa.array(_last_auction(number) + FIRST_AUCTION),
            "item_name": self._text(number, "item", 20),
            "description": self._text(number, "description", 60),
            "initial_bid": pa.array(first),
            "reserve": pa.array(first + self._price(number, "reserve")),
            "date_time": _times(opened),
            "expires": _times(opened + 1000 + self._below(number, "length", 2 * horizon)),
            "seller": pa.array(np.where(hot, hot_seller, self._person(number, "seller")) + FIRST_PERSON),
            "category": pa.array(FIRST_CATEGORY + self._below(number, "category", CATEGORIES)),
            "extra": self._text(number, "extra", 60),
        }

    def _bids(self, number: Ints) -> Columns:
        hot = self._below(number, "hot auction", HOT_AUCTION) > 0
        hot_auction = _last_auction(number) // _HOT_EVERY * _HOT_EVERY
        hot_person = self._below(number, "hot bidder", HOT_BIDDER) > 0
        hot_bidder = _last_person(number) // _HOT_EVERY * _HOT_EVERY + 1
        channel, url = self._channel(number)
        return {
            "auction": pa.array(np.where(hot, hot_auction, self._auction(number)) + FIRST_AUCTION),
            "bidder": pa.array(
                np.where(hot_person, hot_bidder, self._person(number, "bidder")) + FIRST_PERSON
            ),
            "price": pa.array(self._price(number, "price")),
            "channel": channel,
            "url": url,
            "date_time": _times(self._time(number)),
            "extra": self._text(number, "extra", 30),
        }

    def _channel(self, number: Ints) -> tuple[pa.Array, pa.Array]:
        """Half the bids come through one of four well-known channels, nine in ten others carry an id."""
        other = self._below(number, "other channel", _OTHER_CHANNELS)
        known = pa.array(self._below(number, "known channel", 2) > 0)
        has_id = pa.array(self._below(number, "channel id", 10) > 0)
        path = [self._text(number, f"directory {i}", 5) for i in range(3)]
        page = _joined(_repeat("https://www.nexmark.com", number), *path, separator="/")
        page = _joined(page, _repeat("item.htm?query=1", number), separator="/")
        ident = _joined(page, pa.array(other), separator="&channel_id=")
        channel = _joined(_repeat("channel", number), pa.array(other), separator="-")
        return (
            pc.if_else(known, self._pick(number, "channel", _CHANNELS), channel),
            pc.if_else(pc.and_not(has_id, known), ident, page),
        )

    def _person(self, number: Ints, purpose: str) -> Ints:
        """One of the people active now, or one of those to come."""
        people = _last_person(number) + 1
        active = np.minimum(people, ACTIVE)
        return people - active + self._below(number, purpose, active + _LEAD)

    def _auction(self, number: Ints) -> Ints:
        """One of the auctions in flight, or one of those to come."""
        last = _last_auction(number)
        first = np.maximum(last - IN_FLIGHT, 0)
        return first + self._below(number, "auction", last - first + 1 + _LEAD)

    def _time(self, number: Ints) -> Ints:
        return _START + number * 1_000_000 // self.rate

    def _price(self, number: Ints, purpose: str) -> Ints:
        return np.round(10 ** (6 * self._uniform(number, purpose)) * 100).astype(np.int64)

    def _below(self, number: Ints, purpose: str, bound: int | Ints) -> Ints:
        return (self._uniform(number, purpose) * bound).astype(np.int64)

    def _uniform(self, number: Ints, purpose: str) -> NDArray[np.float64]:
        return (self._bits(number, purpose) >> np.uint64(11)) * 2.0**-53

    def _pick(self, number: Ints, purpose: str, values: tuple[str, ...]) -> pa.Array:
        return pa.array(values).take(pa.array(self._below(number, purpose, len(values))))

    def _text(self, number: Ints, purpose: str, length: int) -> pa.Array:
        """Lower-case letters, the same number in each row."""
        words = [self._bits(number, f"{purpose} {i}") for i in range(0, length, 8)]
        letters = np.column_stack(words).astype("<u8").view(np.uint8).reshape(len(number), -1)[:, :length]
        data = (letters % 26 + ord("a")).astype(np.uint8).tobytes()
        offsets = np.arange(len(number) + 1, dtype=np.int32) * length
        return pa.Array.from_buffers(
            pa.string(), len(number), [None, pa.py_buffer(offsets), pa.py_buffer(data)]
        )

    def _bits(self, number: Ints, purpose: str) -> NDArray[np.uint64]:
        """64 random bits per event: the finaliser of SplitMix64 over the number and the purpose."""
        salt = (zlib.crc32(purpose.encode()) << 32 | self.seed & 0xFFFFFFFF) * 0x9E3779B97F4A7C15
        bits = number.astype(np.uint64) * np.uint64(0xD1B54A32D192ED03) + np.uint64(salt % 2**64)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return bits ^ (bits >> np.uint64(31))


def side_input() -> Columns:
    """What query 13 looks up."""
    keys = np.arange(SIDE_INPUT)
    return {"key": pa.array(keys), "value": _joined(_repeat("value", keys), pa.array(keys))}


def _last_person(number: Ints) -> Ints:
    """The newest person at an event, counted from 0."""
    return number // EPOCH * PEOPLE + np.minimum(number % EPOCH, PEOPLE - 1)


def _last_auction(number: Ints) -> Ints:
    """The newest auction at an event, counted from 0; -1 before the first."""
    place = np.clip(number % EPOCH - PEOPLE, -1, AUCTIONS - 1)
    return number // EPOCH * AUCTIONS + place


def _joined(*columns: pa.Array, separator: str = " ") -> pa.Array:
    return pc.binary_join_element_wise(*(column.cast(pa.string()) for column in columns), separator)


def _repeat(text: str, rows: Ints) -> pa.Array:
    return pa.repeat(pa.scalar(text), len(rows))


def _times(microseconds: Ints) -> pa.Array:
    return pa.array(microseconds).cast(pa.timestamp("us", "UTC"))
