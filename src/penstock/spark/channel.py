"""What the Flight servers of workers and their clients have in common.

Every call must bring the secret of this run, generated for each generation of workers and known only to the
driver and the tasks it started. The server compares it in constant time before any handler runs. The first
message of a stream and every frame after it also contain the generation, so that a worker of an earlier gang
that is still alive somewhere can neither join nor interfere.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow.flight as flight

__all__ = ["Hello", "call_options", "check_generation", "connect", "host_location", "require_secret"]

Hello = Mapping[str, Any]
_HEADER = "authorization"

# No limit on a message's size: frames are cut into chunks well below what gRPC can take.
_OPTIONS = [
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    # Two clients to the same address would otherwise share one connection and one flow-control window.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_http_proxy", 0),
]


class _SecretCheck(flight.ServerMiddlewareFactory):  # type: ignore[misc]
    """Refuses every call that does not bring the secret."""

    def __init__(self, secret: str) -> None:
        super().__init__()
        self._expected = f"Bearer {secret}".encode()

    def start_call(self, info: flight.CallInfo, headers: Mapping[str, Sequence[str]]) -> None:
        for given in headers.get(_HEADER, ()):
            if hmac.compare_digest(given.encode(), self._expected):
                return
        raise flight.FlightUnauthenticatedError("the secret of this run is missing or wrong")


def require_secret(secret: str) -> dict[str, flight.ServerMiddlewareFactory]:
    """The middleware of a server that requires ``secret`` for every call."""
    return {"secret": _SecretCheck(secret)}


def call_options(secret: str, timeout_seconds: float | None = None) -> flight.FlightCallOptions:
    """Options for a call to such a server."""
    return flight.FlightCallOptions(
        headers=[(_HEADER.encode(), f"Bearer {secret}".encode())], timeout=timeout_seconds
    )


def connect(location: str) -> flight.FlightClient:
    return flight.FlightClient(location, generic_options=_OPTIONS)


def host_location(host: str, port: int = 0) -> str:
    """The Flight address of a host; IPv6 addresses need brackets."""
    return f"grpc://[{host}]:{port}" if ":" in host else f"grpc://{host}:{port}"


def check_generation(hello: Hello, generation: int) -> None:
    """Reject peers that belong to another gang."""
    if hello.get("generation") != generation:
        raise flight.FlightUnauthorizedError(
            f"generation {hello.get('generation')} is not the running one ({generation})"
        )


def read_hello(descriptor: flight.FlightDescriptor) -> dict[str, Any]:
    """The JSON object with which a stream introduces itself."""
    hello = json.loads(descriptor.command)
    if not isinstance(hello, dict):
        raise flight.FlightServerError("a stream must introduce itself with a JSON object")
    return hello


def hello_descriptor(hello: Hello) -> flight.FlightDescriptor:
    return flight.FlightDescriptor.for_command(json.dumps(dict(hello)).encode())
