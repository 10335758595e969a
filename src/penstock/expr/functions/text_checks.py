"""Texts looked at letter by letter: masks, checksums, similarity, quoting, and whether UTF-8 is valid.

All are computed once per distinct value. Strings usually are valid UTF-8, but Spark makes a string of any
bytes when binary data is cast, so the functions about that take the bytes.
"""

from __future__ import annotations

import hmac as authentication

import pyarrow as pa
from pyspark.sql import types as t

from penstock.errors import EvaluationError
from penstock.expr.functions.registry import Value, function
from penstock.expr.functions.rules import always
from penstock.expr.functions.vectors import as_array, map_distinct
from penstock.expr.nodes import Call

__all__: list[str] = []

_STRING = always(t.StringType())


def _bytes(value: Value, length: int) -> pa.Array:
    return as_array(value, length).cast(pa.binary())


def _is_valid(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


@function("Invoke.isValid", result=always(t.BooleanType()))
def is_valid_utf8(call: Call, args: list[Value], length: int) -> Value:
    return map_distinct(_is_valid, [_bytes(args[0], length)], length, pa.bool_())


@function("Invoke.makeValid", result=_STRING)
def make_valid_utf8(call: Call, args: list[Value], length: int) -> Value:
    """Every sequence that is broken off, and every byte that fits nowhere, becomes one mark."""
    data = [_bytes(args[0], length)]
    return map_distinct(lambda one: one.decode(errors="replace"), data, length, pa.string())


@function("ExpressionImplUtils.validateUTF8String", result=_STRING, raises=True)
def validate_utf8(call: Call, args: list[Value], length: int) -> Value:
    def one(data: bytes) -> str:
        if not _is_valid(data):
            message = f"the bytes {data!r} are not valid UTF-8"
            raise EvaluationError("INVALID_UTF8_STRING", message, expression=str(call))
        return data.decode()

    return map_distinct(one, [_bytes(args[0], length)], length, pa.string())


@function("ExpressionImplUtils.tryValidateUTF8String", result=_STRING, nullable=True)
def try_validate_utf8(call: Call, args: list[Value], length: int) -> Value:
    data = [_bytes(args[0], length)]
    return map_distinct(lambda one: one.decode() if _is_valid(one) else None, data, length, pa.string())


@function("ExpressionImplUtils.isLuhnNumber", result=always(t.BooleanType()))
def luhn_check(call: Call, args: list[Value], length: int) -> Value:
    """The checksum of card numbers: every second digit from the right counts twice."""

    def one(text: str) -> bool:
        if not text or not (text.isascii() and text.isdigit()):
            return False
        total = 0
        for place, letter in enumerate(reversed(text)):
            digit = int(letter) * (1 + place % 2)
            total += digit - 9 if digit > 9 else digit
        return total % 10 == 0

    return map_distinct(one, args, length, pa.bool_())


@function("Mask", result=_STRING, strict=False)
def mask(call: Call, args: list[Value], length: int) -> Value:
    """Capital letters, small letters, digits and the rest replaced; NULL for a kind leaves it as it is."""

    def one(
        text: str | None, upper: str | None, lower: str | None, digit: str | None, other: str | None
    ) -> str | None:
        if text is None:
            return None

        def masked(letter: str) -> str:
            kind = (
                upper
                if letter.isupper()
                else lower
                if letter.islower()
                else digit
                if letter.isdecimal()
                else other
            )
            return letter if kind is None else kind

        return "".join(map(masked, text))

    return map_distinct(one, args, length, pa.string(), nulls=True)


@function("ExpressionImplUtils.quote", result=_STRING)
def quote(call: Call, args: list[Value], length: int) -> Value:
    return map_distinct(lambda text: "'" + text.replace("'", "\\'") + "'", args, length, pa.string())


@function("ExpressionImplUtils.hmac", result=always(t.BinaryType()), raises=True)
def hmac(call: Call, args: list[Value], length: int) -> Value:
    digests = {"MD5": "md5", "SHA-1": "sha1", "SHA1": "sha1"}
    digests |= {f"SHA{dash}{bits}": f"sha{bits}" for bits in (224, 256, 384, 512) for dash in ("-", "")}

    def one(key: bytes, message: bytes, algorithm: str) -> bytes:
        name = digests.get(algorithm.upper())
        if not key:
            condition = "INVALID_PARAMETER_VALUE.HMAC_CRYPTO_ERROR"
            raise EvaluationError(condition, "the key is empty", expression=str(call))
        if name is None:
            text = f"there is no algorithm {algorithm}"
            raise EvaluationError("INVALID_PARAMETER_VALUE.HMAC_ALGORITHM", text, expression=str(call))
        return authentication.digest(key, message, name)

    return map_distinct(one, args, length, pa.binary())


@function("ExpressionImplUtils.jaroWinklerSimilarity", result=always(t.DoubleType()))
def jaro_winkler(call: Call, args: list[Value], length: int) -> Value:
    """1 for equal texts and 0 for texts with nothing in common; a common beginning counts extra."""
    return map_distinct(_jaro_winkler, args, length, pa.float64())


def _jaro_winkler(left: str, right: str) -> float:
    if left == right:
        return 1.0
    left, right = _units(left), _units(right)
    matches, transpositions = _matches(left, right)
    if not matches:
        return 0.0
    jaro = (matches / len(left) + matches / len(right) + (matches - transpositions) / matches) / 3.0
    prefix = 0
    for a, b in zip(left[:4], right[:4], strict=False):
        if a != b:
            break
        prefix += 1
    return jaro + prefix * 0.1 * (1.0 - jaro)


def _units(text: str) -> str:
    """The text in units of UTF-16, which is what Java counts, each as a character."""
    if text.isascii():
        return text
    data = text.encode("utf-16-le", "surrogatepass")
    return "".join(chr(data[place] + 256 * data[place + 1]) for place in range(0, len(data), 2))


def _matches(left: str, right: str) -> tuple[int, float]:
    """Letters that occur in both texts not far apart, and half the number of those in another order."""
    reach = max(max(len(left), len(right)) // 2 - 1, 0)
    taken = [False] * len(right)
    found: list[str] = []
    for place, letter in enumerate(left):
        for other in range(max(place - reach, 0), min(place + reach + 1, len(right))):
            if not taken[other] and right[other] == letter:
                taken[other] = True
                found.append(letter)
                break
    partners = [letter for letter, used in zip(right, taken, strict=True) if used]
    return len(found), sum(a != b for a, b in zip(found, partners, strict=True)) / 2
