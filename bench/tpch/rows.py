"""Rows for the tables of TPC-H: whatever a refresh adds or changes, and whole tables for small tests.

Values follow the specification's domains (clause 4.2.3) but not its distributions: about half of the rows are
such that the 22 queries select them. Uniform rows would leave most answers empty at small scales, and an
empty view that stays empty proves nothing. Everything is drawn column by column from the given generator, so
the same generator gives the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

__all__ = [
    "Columns",
    "Ints",
    "customers",
    "line_counts",
    "nations",
    "orders",
    "parts",
    "partsupps",
    "regions",
    "suppliers",
]

Ints = NDArray[np.int64]
Columns = dict[str, pa.Array]

_REGIONS = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
_NATIONS = (  # name and region, by key (clause 4.2.3)
    ("ALGERIA", 0),
    ("ARGENTINA", 1),
    ("BRAZIL", 1),
    ("CANADA", 1),
    ("EGYPT", 4),
    ("ETHIOPIA", 0),
    ("FRANCE", 3),
    ("GERMANY", 3),
    ("INDIA", 2),
    ("INDONESIA", 2),
    ("IRAN", 4),
    ("IRAQ", 4),
    ("JAPAN", 2),
    ("JORDAN", 4),
    ("KENYA", 0),
    ("MOROCCO", 0),
    ("MOZAMBIQUE", 0),
    ("PERU", 1),
    ("CHINA", 2),
    ("ROMANIA", 3),
    ("SAUDI ARABIA", 4),
    ("VIETNAM", 2),
    ("RUSSIA", 3),
    ("UNITED KINGDOM", 3),
    ("UNITED STATES", 1),
)
_ASKED_NATIONS = (2, 3, 6, 7, 8, 8, 20)  # Brazil, Canada, France, Germany, twice India, Saudi Arabia
_SEGMENTS = ("AUTOMOBILE", "BUILDING", "FURNITURE", "MACHINERY", "HOUSEHOLD")
_COLOURS = ("almond", "azure", "chocolate", "forest", "green", "ivory", "lemon", "navy", "olive", "plum")
_KINDS = ("STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO")
_FINISHES = ("ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED")
_METALS = ("TIN", "NICKEL", "BRASS", "STEEL", "COPPER")
_SIZES = ("SM", "LG", "MED", "JUMBO", "WRAP")
_VESSELS = ("CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM")
# First word of the name, brand, type, size and container that queries 2, 8, 9, 14 and 16 to 20 look for.
_ASKED_PARTS = (
    ("forest", "Brand#12", "PROMO BRUSHED COPPER", 3, "SM BOX"),
    ("green", "Brand#23", "ECONOMY ANODIZED STEEL", 5, "MED BOX"),
    ("lemon", "Brand#34", "STANDARD PLATED BRASS", 15, "LG CASE"),
    ("forest", "Brand#45", "SMALL BRUSHED NICKEL", 14, "JUMBO JAR"),
    ("green", "Brand#11", "MEDIUM POLISHED TIN", 49, "WRAP CAN"),
)
_PRIORITIES = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")
_INSTRUCTIONS = ("DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN")
_SHIP_MODES = ("REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB")
_COMMENTS = (
    "final deposits nag",
    "special packages beside requests",
    "quick ideas sleep",
    "even foxes haggle",
)
_SUPPLIER_COMMENTS = ("bold accounts wake", "Customer slow Complaints", "Customer Recommends", "pinto beans")
_FIRST_DAY, _LAST_DAY = np.datetime64("1992-01-01"), np.datetime64("1998-08-02")
_CURRENT_DAY = np.datetime64("1995-06-17")
_MOST_LINES = 7


def regions() -> Columns:
    """All five."""
    keys = np.arange(len(_REGIONS))
    return {"r_regionkey": pa.array(keys), "r_name": pa.array(_REGIONS), "r_comment": _blank(len(keys))}


def nations() -> Columns:
    """All 25."""
    return {
        "n_nationkey": pa.array(np.arange(len(_NATIONS))),
        "n_name": pa.array([name for name, _ in _NATIONS]),
        "n_regionkey": pa.array([region for _, region in _NATIONS]),
        "n_comment": _blank(len(_NATIONS)),
    }


def suppliers(rng: np.random.Generator, keys: Ints) -> Columns:
    """Suppliers with the given keys; of some, customers complain."""
    nation = _nations(rng, len(keys))
    return {
        "s_suppkey": pa.array(keys),
        "s_name": _named("Supplier#", keys),
        "s_address": _numbered(rng, "street ", len(keys)),
        "s_nationkey": pa.array(nation),
        "s_phone": _phones(rng, nation),
        "s_acctbal": _cents(rng.integers(-99_999, 999_999, len(keys))),
        "s_comment": _pick(rng, _SUPPLIER_COMMENTS, len(keys)),
    }


def customers(rng: np.random.Generator, keys: Ints) -> Columns:
    """Customers with the given keys."""
    nation = _nations(rng, len(keys))
    return {
        "c_custkey": pa.array(keys),
        "c_name": _named("Customer#", keys),
        "c_address": _numbered(rng, "road ", len(keys)),
        "c_nationkey": pa.array(nation),
        "c_phone": _phones(rng, nation),
        "c_acctbal": _cents(rng.integers(-99_999, 999_999, len(keys))),
        "c_mktsegment": _pick(rng, _SEGMENTS, len(keys)),
        "c_comment": _pick(rng, _COMMENTS, len(keys)),
    }


def parts(rng: np.random.Generator, keys: Ints) -> Columns:
    """Parts with the given keys: half of them any, half of the kinds that queries look for."""
    size = len(keys)
    maker = rng.integers(1, 6, size)
    brand = _joined(pa.array(maker), pa.array(rng.integers(1, 6, size)), separator="")
    kind = _joined(_pick(rng, _KINDS, size), _pick(rng, _FINISHES, size), _pick(rng, _METALS, size))
    asked = pa.array(rng.random(size) < 0.5)
    which = pa.array(rng.integers(0, len(_ASKED_PARTS), size))
    first, asked_brand, asked_kind, asked_size, asked_container = (
        pa.array(values).take(which) for values in zip(*_ASKED_PARTS, strict=True)
    )
    first = pc.if_else(asked, first, _pick(rng, _COLOURS, size))
    container = _joined(_pick(rng, _SIZES, size), _pick(rng, _VESSELS, size))
    return {
        "p_partkey": pa.array(keys),
        "p_name": _joined(first, _pick(rng, _COLOURS, size), _pick(rng, _COLOURS, size)),
        "p_mfgr": _joined(_repeat("Manufacturer#", size), pa.array(maker), separator=""),
        "p_brand": pc.if_else(asked, asked_brand, _joined(_repeat("Brand#", size), brand, separator="")),
        "p_type": pc.if_else(asked, asked_kind, kind),
        "p_size": pc.if_else(asked, asked_size, pa.array(rng.integers(1, 51, size))),
        "p_container": pc.if_else(asked, asked_container, container),
        "p_retailprice": _cents(rng.integers(90_000, 210_000, size)),
        "p_comment": _pick(rng, _COMMENTS, size),
    }


def partsupps(rng: np.random.Generator, part_keys: Ints, supplier_keys: Ints) -> Columns:
    """What the given suppliers ask for the given parts."""
    size = len(part_keys)
    return {
        "ps_partkey": pa.array(part_keys),
        "ps_suppkey": pa.array(supplier_keys),
        "ps_availqty": pa.array(rng.integers(1, 10_000, size)),
        "ps_supplycost": _cents(rng.integers(100, 100_001, size)),
        "ps_comment": _pick(rng, _COMMENTS, size),
    }


def line_counts(rng: np.random.Generator, size: int) -> Ints:
    """How many lines new orders have: 1 to 7, and one in eight has all seven."""
    return np.where(rng.random(size) < 0.125, _MOST_LINES, rng.integers(1, _MOST_LINES + 1, size))


def orders(
    rng: np.random.Generator, keys: Ints, lines: Ints, customer_keys: Ints, offers: tuple[Ints, Ints]
) -> tuple[Columns, Columns]:
    """Orders with the given keys and numbers of lines; and the lines.

    Customers whose key is divisible by three order nothing (clause 4.2.3). ``offers`` are the pairs of part
    and supplier that lines are made of. Orders of seven lines are large, which is rare in the specification.
    """
    size, total = len(keys), int(lines.sum())
    owner = np.repeat(np.arange(size), lines)
    number = np.arange(total) - np.repeat(np.cumsum(lines) - lines, lines) + 1
    buyers = customer_keys[customer_keys % 3 != 0]
    day = rng.integers(_FIRST_DAY.astype(np.int64), (_LAST_DAY - 121).astype(np.int64), size)
    shipped = day[owner] + rng.integers(1, 122, total)
    received = shipped + rng.integers(1, 31, total)
    offer = rng.integers(0, len(offers[0]), total)
    by_hand = rng.random(total) < 0.25  # what query 19 looks for
    quantity = np.where(by_hand, rng.integers(10, 12, total), rng.integers(1, 51, total))
    quantity = np.where(lines[owner] == _MOST_LINES, np.maximum(quantity, 40 + number), quantity)
    price = quantity * rng.integers(90_000, 210_000, total)
    discount, tax = rng.integers(0, 11, total), rng.integers(0, 9, total)
    today = _CURRENT_DAY.astype(np.int64)
    still_open = np.bincount(owner, shipped > today, minlength=size)
    status = np.where(still_open == 0, "F", np.where(still_open == lines, "O", "P"))
    charged = price * (100 - discount) * (100 + tax) // 10_000
    returned = np.where(received > today, "N", np.where(rng.random(total) < 0.5, "R", "A"))
    order_columns = {
        "o_orderkey": pa.array(keys),
        "o_custkey": pa.array(buyers[rng.integers(0, len(buyers), size)]),
        "o_orderstatus": pa.array(status),
        "o_totalprice": _cents(np.bincount(owner, charged, minlength=size).astype(np.int64)),
        "o_orderdate": _dates(day),
        "o_orderpriority": _pick(rng, _PRIORITIES, size),
        "o_clerk": _named("Clerk#", rng.integers(1, 1001, size)),
        "o_shippriority": pa.array(np.zeros(size, np.int64)),
        "o_comment": _pick(rng, _COMMENTS, size),
    }
    mode = pc.if_else(pa.array(by_hand), "AIR", _pick(rng, _SHIP_MODES, total))
    line_columns = {
        "l_orderkey": pa.array(keys[owner]),
        "l_partkey": pa.array(offers[0][offer]),
        "l_suppkey": pa.array(offers[1][offer]),
        "l_linenumber": pa.array(number),
        "l_quantity": _cents(quantity * 100),
        "l_extendedprice": _cents(price),
        "l_discount": _cents(discount),
        "l_tax": _cents(tax),
        "l_returnflag": pa.array(returned),
        "l_linestatus": pa.array(np.where(shipped > today, "O", "F")),
        "l_shipdate": _dates(shipped),
        "l_commitdate": _dates(day[owner] + rng.integers(30, 91, total)),
        "l_receiptdate": _dates(received),
        "l_shipinstruct": pc.if_else(pa.array(by_hand), _INSTRUCTIONS[0], _pick(rng, _INSTRUCTIONS, total)),
        "l_shipmode": mode,
        "l_comment": _pick(rng, _COMMENTS, total),
    }
    return order_columns, line_columns


def _pick(rng: np.random.Generator, values: Sequence[str], size: int) -> pa.Array:
    return pa.array(values).take(pa.array(rng.integers(0, len(values), size)))


def _nations(rng: np.random.Generator, size: int) -> Ints:
    asked = np.array(_ASKED_NATIONS)[rng.integers(0, len(_ASKED_NATIONS), size)]
    return np.where(rng.random(size) < 0.5, asked, rng.integers(0, len(_NATIONS), size))


def _phones(rng: np.random.Generator, nation: Ints) -> pa.Array:
    """The country code is the nation's key plus ten (clause 4.2.2.9)."""
    blocks = [nation + 10, *(rng.integers(low, 10 * low, len(nation)) for low in (100, 100, 1000))]
    return _joined(*map(pa.array, blocks), separator="-")


def _named(prefix: str, keys: Ints) -> pa.Array:
    digits = pc.utf8_lpad(pa.array(keys).cast(pa.string()), 9, "0")
    return _joined(_repeat(prefix, len(keys)), digits, separator="")


def _numbered(rng: np.random.Generator, prefix: str, size: int) -> pa.Array:
    return _joined(_repeat(prefix, size), pa.array(rng.integers(1, 1000, size)), separator="")


def _joined(*columns: pa.Array, separator: str = " ") -> pa.Array:
    return pc.binary_join_element_wise(*(column.cast(pa.string()) for column in columns), separator)


def _repeat(text: str, size: int) -> pa.Array:
    return pa.repeat(pa.scalar(text), size)


def _blank(size: int) -> pa.Array:
    return _repeat("", size)


def _dates(days: Ints) -> pa.Array:
    return pa.array(days.astype(np.int32)).cast(pa.date32())


def _cents(values: Ints) -> pa.Array:
    """Whole cents as DECIMAL(15,2): the unscaled values are the cents, widened to 128 bits."""
    words = np.column_stack((values, values >> 63)).astype("<i8")
    return pa.Array.from_buffers(pa.decimal128(15, 2), len(values), [None, pa.py_buffer(words.tobytes())])
