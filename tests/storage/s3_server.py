"""An S3 server on this machine, for tests: the real protocol, objects in memory."""

from __future__ import annotations

import logging
import os
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

BUCKET = "penstock"


def environment(endpoint: str) -> dict[str, str]:
    """What a client needs."""
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "AKIATEST",
        "AWS_SECRET_ACCESS_KEY": "not-so-secret",
        "AWS_REGION": "us-east-1",
    }


@contextmanager
def s3_server(wrapped: Callable[[Any], Any] = lambda application: application) -> Iterator[str]:
    """A server with an empty bucket; the endpoint. It serves one request at a time, because it would not
    otherwise check a condition and write in one go. Faults can be ``wrapped`` around it."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    application = wrapped(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, application, threaded=False)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    endpoint = f"http://127.0.0.1:{server.server_port}"
    request = urllib.request.Request(f"{endpoint}/{BUCKET}", method="PUT")
    urllib.request.urlopen(request).close()
    try:
        yield endpoint
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def s3_environment(endpoint: str) -> Iterator[None]:
    """The variables that a client reads."""
    with mock.patch.dict(os.environ, environment(endpoint)):
        yield
