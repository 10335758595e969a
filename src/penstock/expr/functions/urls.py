"""Addresses: parse_url, url_encode and url_decode, computed once per distinct value.

``parse_url`` takes an address apart as Java's ``java.net.URI`` does, which is stricter than a browser: a
blank or an unescaped bracket makes it invalid, and a host with an underscore is no host.
"""

from __future__ import annotations

import re
import urllib.parse

import pyarrow as pa
from pyspark.sql import types as t

from penstock.errors import EvaluationError
from penstock.expr.functions.registry import Value, function
from penstock.expr.functions.rules import always
from penstock.expr.functions.vectors import map_distinct
from penstock.expr.nodes import Call

__all__: list[str] = []

_PARTS = re.compile(
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.\-]*):)?"
    r"(?://(?P<authority>[^/?#]*))?(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?(?:#(?P<fragment>.*))?",
    re.DOTALL,
)
# What Java's URI lets stand in a part: letters, digits, some signs, escapes, and what is not ASCII.
_OTHER = r"[^\x00-\x7f]"
_ESCAPED = r"%[0-9A-Fa-f]{2}"
_PLAIN = rf"(?:[A-Za-z0-9_\-!.~'()*,;:$&+=@/]|{_ESCAPED}|{_OTHER})*"
_PATH = re.compile(_PLAIN)
_QUERY = re.compile(rf"(?:[A-Za-z0-9_\-!.~'()*,;:$&+=@/?\[\]]|{_ESCAPED}|{_OTHER})*")
_SERVER = re.compile(
    r"(?:(?P<user>(?:[A-Za-z0-9_\-!.~'()*,;:$&+=]|%[0-9A-Fa-f]{2}|[^\x00-\x7f])*)@)?"
    r"(?P<host>(?:[A-Za-z0-9](?:[A-Za-z0-9\-]*[A-Za-z0-9])?\.)*[A-Za-z](?:[A-Za-z0-9\-]*[A-Za-z0-9])?\.?"
    r"|[A-Za-z0-9](?:[A-Za-z0-9\-]*[A-Za-z0-9])?\.?"
    r"|\d{1,3}(?:\.\d{1,3}){3}|\[[0-9A-Fa-f:.%]+\])(?::(?P<port>\d*))?"
)
_REGISTRY = re.compile(rf"(?:[A-Za-z0-9_\-!.~'()*,;:$&+=@]|{_ESCAPED}|{_OTHER})*")
_BLANK_ABROAD = re.compile(r"[\u0080-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")


class _Address:
    """The parts of a valid address; ``None`` is a part that is not there."""

    def __init__(self, text: str) -> None:
        found = _PARTS.fullmatch(text)
        assert found is not None
        self.scheme, self.authority = found["scheme"], found["authority"] or None
        self.path: str | None = found["path"]
        self.query, self.fragment = found["query"], found["fragment"]
        self.user: str | None = None
        self.host: str | None = None
        opaque = self.scheme and found["authority"] is None and not found["path"].startswith("/")
        if _BLANK_ABROAD.search(text) or not self._is_valid(found, bool(opaque)):
            raise ValueError(text)
        server = _SERVER.fullmatch(self.authority) if self.authority else None
        if server is not None:
            self.user, self.host = server["user"], server["host"]
        if opaque:
            # Everything behind the scheme is one piece, in which nothing is told apart.
            self.path = self.query = None

    def _is_valid(self, found: re.Match[str], opaque: bool) -> bool:
        if found["scheme"] and not found["path"] and found["authority"] is None and found["query"] is None:
            return False
        if found["authority"] == "" and not found["path"]:
            return False
        if found["scheme"] is None and ":" in re.split("[/?#]", found.string)[0]:
            return False  # What stands before a colon must be a scheme.
        authority = _SERVER.fullmatch(self.authority or "") or _REGISTRY.fullmatch(self.authority or "")
        if authority is None and self.authority is not None:
            return False
        path = _QUERY if opaque else _PATH
        return all(
            part is None or pattern.fullmatch(part) is not None
            for part, pattern in ((found["path"], path), (self.query, _QUERY), (self.fragment, _QUERY))
        )


def _part(address: _Address, part: str, key: str | None) -> str | None:
    match part:
        case "HOST":
            return address.host
        case "PATH":
            return address.path
        case "QUERY" if key is not None:
            found = re.search(rf"(?:&|^){re.escape(key)}=([^&]*)", address.query or "")
            return found[1] if found else None
        case "QUERY":
            return address.query
        case "REF":
            return address.fragment
        case "PROTOCOL":
            return address.scheme
        case "FILE":
            if address.path is None:
                return None
            return address.path + (f"?{address.query}" if address.query is not None else "")
        case "AUTHORITY":
            return address.authority
        case "USERINFO":
            return address.user
    return None


def _fails(call: Call) -> bool:
    return str(call.option("target")).endswith("true)")


@function(
    "ParseUrlEvaluator.evaluate",
    result=always(t.StringType()),
    nullable=True,
    options=("target",),
    raises=_fails,
)
def parse_url(call: Call, args: list[Value], length: int) -> Value:
    """Spark's evaluator ends in whether a bad address is an error."""
    fails = _fails(call)

    def one(text: str, part: str, key: str | None = None) -> str | None:
        try:
            address = _Address(text)
        except ValueError:
            if fails:
                message = f"the address {text!r} is not valid"
                raise EvaluationError("INVALID_URL", message, expression=str(call)) from None
            return None
        return None if key is not None and part != "QUERY" else _part(address, part, key)

    return map_distinct(one, args, length, pa.string())


@function("UrlCodec.encode", result=always(t.StringType()))
def url_encode(call: Call, args: list[Value], length: int) -> Value:
    """As a form sends it: a blank is a plus sign."""

    def one(text: str) -> str:
        return urllib.parse.quote(text, safe=" *").replace("~", "%7E").replace(" ", "+")

    return map_distinct(one, args[:1], length, pa.string())


_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


@function("UrlCodec.decode", result=always(t.StringType()), nullable=True, raises=True)
def url_decode(call: Call, args: list[Value], length: int) -> Value:
    """With the second argument true an escape that is none is an error, otherwise NULL."""

    def one(text: str, fails: bool) -> str | None:
        if _BAD_ESCAPE.search(text) is None:
            return urllib.parse.unquote_plus(text, errors="replace")
        if fails:
            message = f"the text {text!r} cannot be decoded"
            raise EvaluationError("CANNOT_DECODE_URL", message, expression=str(call))
        return None

    return map_distinct(one, args, length, pa.string())
