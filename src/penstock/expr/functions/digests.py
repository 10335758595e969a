"""Digests, and numbers and bytes written in other bases. All are computed once per distinct value."""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import types as t

from penstock.errors import EvaluationError, UnsupportedQuery
from penstock.expr.functions.registry import ANSI, LEGACY, Value, function, when_ansi
from penstock.expr.functions.rules import always, literal_of
from penstock.expr.functions.vectors import map_distinct
from penstock.expr.nodes import Call, Expr

__all__: list[str] = []

_STRING = always(t.StringType())
_BINARY = always(t.BinaryType())


@function("Md5", result=_STRING)
def md5(call: Call, args: list[Value], length: int) -> Value:
    return map_distinct(
        lambda data: hashlib.md5(data, usedforsecurity=False).hexdigest(), args, length, pa.string()
    )


@function("Sha1", result=_STRING)
def sha1(call: Call, args: list[Value], length: int) -> Value:
    return map_distinct(
        lambda data: hashlib.sha1(data, usedforsecurity=False).hexdigest(), args, length, pa.string()
    )


@function("Sha2", result=_STRING, nullable=True)
def sha2(call: Call, args: list[Value], length: int) -> Value:
    """A width of 0 means 256 bits; an unknown width gives NULL."""
    makers = {
        0: hashlib.sha256,
        224: hashlib.sha224,
        256: hashlib.sha256,
        384: hashlib.sha384,
        512: hashlib.sha512,
    }

    def one(data: bytes, bits: int) -> str | None:
        return makers[bits](data).hexdigest() if bits in makers else None

    return map_distinct(one, args, length, pa.string())


@function("Crc32", result=always(t.LongType()))
def crc32(call: Call, args: list[Value], length: int) -> Value:
    return map_distinct(zlib.crc32, args, length, pa.int64())


@function("Hex", result=_STRING)
def hexadecimal(call: Call, args: list[Value], length: int) -> Value:
    def one(value: int | str | bytes) -> str:
        if isinstance(value, int):
            return f"{value % 2**64:X}"
        return (value.encode() if isinstance(value, str) else value).hex().upper()

    return map_distinct(one, args, length, pa.string())


@function("Unhex", result=_BINARY, nullable=True, moded=True, raises=when_ansi)
def from_hexadecimal(call: Call, args: list[Value], length: int) -> Value:
    def one(text: str) -> bytes | None:
        padded = "0" * (len(text) % 2) + text
        if re.fullmatch(r"[0-9a-fA-F]*", padded):
            return bytes.fromhex(padded)
        return _malformed(call, text)

    return map_distinct(one, args, length, pa.binary())


def _malformed(call: Call, text: str) -> bytes | None:
    """NULL, or in ANSI mode the error, for text that holds no bytes."""
    if call.option("mode") == ANSI:
        message = f"the text {text!r} cannot be converted to binary"
        raise EvaluationError("CONVERSION_INVALID_INPUT", message, expression=str(call))
    return None


@function("Bin", result=_STRING)
def binary(call: Call, args: list[Value], length: int) -> Value:
    return map_distinct(lambda number: f"{number % 2**64:b}", args, length, pa.string())


_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@function("Conv", result=_STRING, nullable=True, moded=True, raises=when_ansi)
def convert_base(call: Call, args: list[Value], length: int) -> Value:
    """Digits up to the first that the base does not have; a negative target base means signed."""
    ansi = call.option("mode") == ANSI

    def one(text: str, old: int, new: int) -> str | None:
        if not 2 <= old <= 36 or not 2 <= abs(new) <= 36 or not text.strip(" "):
            return None
        body = "".join(letter.upper() if letter.isascii() else letter for letter in text.strip(" "))
        negative, body = body.startswith("-"), body.removeprefix("-")
        value = 0
        for letter in body:
            digit = _DIGITS.find(letter)
            if not 0 <= digit < old:
                break
            value = value * old + digit
        if value >= 2**64:
            if ansi:
                raise EvaluationError(
                    "ARITHMETIC_OVERFLOW", f"conv({text!r}) exceeds 64 bits", expression=str(call)
                )
            value = 2**64 - 1
        elif negative and new > 0:
            value = -value % 2**64 if value < 2**63 else 2**64 - 1
        sign = ""
        if new < 0:
            signed = value - 2**64 if value >= 2**63 else value
            signed = -signed if negative else signed
            sign, value = ("-", -signed) if signed < 0 else ("", signed)
        return sign + _in_base(value, abs(new))

    return map_distinct(one, args, length, pa.string())


def _in_base(value: int, base: int) -> str:
    digits = ""
    while value:
        value, digit = divmod(value, base)
        digits = _DIGITS[digit] + digits
    return digits or "0"


@function("Base64.encode", result=_STRING)
def encode_base64(call: Call, args: list[Value], length: int) -> Value:
    """With the second argument true, a line break after every 76 characters."""

    def one(data: bytes, chunked: bool) -> str:
        text = base64.b64encode(data).decode()
        return "\r\n".join(text[i : i + 76] for i in range(0, len(text), 76)) if chunked else text

    return map_distinct(one, args, length, pa.string())


_STRICT = re.compile(r"[A-Za-z0-9+/\s]*(?:=\s*){0,2}")


@function("UnBase64", result=_BINARY, nullable=True, moded=True, raises=True)
def decode_base64(call: Call, args: list[Value], length: int) -> Value:
    """Characters that are not of the alphabet are passed over, unless ANSI mode checks the text before."""
    mode = call.option("mode")

    def one(text: str) -> bytes | None:
        if mode != LEGACY and not _is_base64(text):
            return _malformed(call, text)
        try:
            return _mime(text)
        except ValueError as error:
            message = f"{text!r} is not base64: {error}"
            raise EvaluationError("CONVERSION_INVALID_INPUT", message, expression=str(call)) from None

    return map_distinct(one, args, length, pa.binary())


def _is_base64(text: str) -> bool:
    if _STRICT.fullmatch(text) is None:
        return False
    letters, padding = len(re.sub(r"[\s=]", "", text)), text.count("=")
    return (letters + padding) % 4 == 0 if padding else letters % 4 != 1


def _mime(text: str) -> bytes:
    """Java's decoder for mail: the first padding ends the data, and no letter may follow."""
    data, padding, rest = text.partition("=")
    letters = re.sub(r"[^A-Za-z0-9+/]", "", data)
    left = len(letters) % 4
    if left == 1 or (padding and (left == 0 or (left == 2 and not rest.startswith("=")))):
        raise ValueError("the last unit is not complete")
    if re.search(r"[A-Za-z0-9+/]", rest):
        raise ValueError("there is data behind the padding")
    return base64.b64decode(letters + "=" * (-len(letters) % 4))


@function("Base32.encode", result=_STRING)
def encode_base32(call: Call, args: list[Value], length: int) -> Value:
    return map_distinct(lambda data: base64.b32encode(data).decode(), args, length, pa.string())


@function("UnBase32.decode", result=_BINARY)
def decode_base32(call: Call, args: list[Value], length: int) -> Value:
    """Characters that are not of the alphabet are passed over, and so are bits that make no byte, mostly."""

    def one(text: str) -> bytes:
        letters = re.sub(r"[^A-Za-z2-7]", "", text.split("=")[0]).upper()
        bits = "".join(f"{'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.index(letter):05b}" for letter in letters)
        whole = bits[: len(bits) // 8 * 8]
        data = int(whole, 2).to_bytes(len(whole) // 8, "big") if whole else b""
        # A single letter that is left over is not passed over: the bits before its last two make a byte.
        return data + bytes([int(bits, 2) >> 2 & 0xFF]) if len(letters) % 8 == 1 else data

    return map_distinct(one, args, length, pa.binary())


_CHARSETS = {
    "UTF-8": "utf-8",
    "US-ASCII": "ascii",
    "ISO-8859-1": "latin-1",
    "UTF-16BE": "utf-16-be",
    "UTF-16LE": "utf-16-le",
    "UTF-32": "utf-32-be",
}


def _charset(args: Sequence[Expr], options: Mapping[str, Any]) -> str:
    name = str(literal_of(args[1], "encode and decode", "character set")).upper()
    if name not in _CHARSETS:
        raise UnsupportedQuery(f"the character set {name}", advice=f"Use one of {', '.join(_CHARSETS)}")
    return _CHARSETS[name]


def _encode_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    _charset(args, options)
    return t.BinaryType()


def _decode_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    _charset(args, options)
    return t.StringType()


@function("Encode.encode", result=_encode_type, raises=True)
def encode(call: Call, args: list[Value], length: int) -> Value:
    codec = _charset(call.args, {})
    return map_distinct(lambda text: _coded(lambda: text.encode(codec), call), args[:1], length, pa.binary())


@function("StringDecode.decode", result=_decode_type, raises=True)
def decode(call: Call, args: list[Value], length: int) -> Value:
    codec = _charset(call.args, {})
    return map_distinct(lambda data: _coded(lambda: data.decode(codec), call), args[:1], length, pa.string())


def _coded(compute: Any, call: Call) -> Any:
    try:
        return compute()
    except UnicodeError as error:
        raise EvaluationError("MALFORMED_CHARACTER_CODING", str(error), expression=str(call)) from error
