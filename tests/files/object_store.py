"""A real S3-compatible server on loopback, whose answers a test can spoil."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias
from urllib.request import Request, urlopen

Spoiled: TypeAlias = Literal["denied", "throttled", "cut", "bad key"]

STATUS = {"denied": "403 Forbidden", "throttled": "503 Slow Down", "bad key": "403 Forbidden"}

CODES = {"denied": "AccessDenied", "throttled": "SlowDown", "bad key": "InvalidAccessKeyId"}


@dataclass
class Fault:
    """Spoils requests.

    Attributes:
        requests: a pattern for their method and path: ``GET /bucket/tenders.csv``.
        answer: what they get; "cut" is half of the right body. A function is called instead, just
            before the right answer.
        times: how many are spoiled.
    """

    requests: str
    answer: Spoiled | Callable[[], object]
    times: int = 1000


@dataclass
class ObjectStore:
    """The server, as a WSGI application in front of moto.

    Attributes:
        app: moto's application.
        faults: what to spoil.
        requests: the method and path of each request.
    """

    app: Any
    url: str = ""
    faults: list[Fault] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        request = f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}"
        self.requests.append(request)
        environ["SERVER_NAME"] = "s3.amazonaws.com"
        match self._fault(request):
            case None:
                return self._right(environ, start)
            case "cut":
                return _half(b"".join(self._right(environ, start)))
            case str(kind):
                environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
                body = f"<Error><Code>{CODES[kind]}</Code><Message>No.</Message></Error>".encode()
                start(STATUS[kind], [("Content-Length", str(len(body)))])
                return [body]
            case happens:
                happens()
                return self._right(environ, start)

    def call(self, method: str, path: str, body: bytes = b"") -> None:
        """Make a request as another program would."""
        signed = "AWS4-HMAC-SHA256 Credential=A/20260101/us-east-1/s3/aws4_request"
        headers = {"Authorization": signed, "Content-Type": "text/csv"}
        urlopen(Request(self.url + path, method=method, data=body, headers=headers)).close()

    def reset(self, bucket: str) -> None:
        """Delete everything, and make an empty bucket."""
        from moto.s3.models import s3_backends

        self.faults.clear()
        s3_backends.reset()
        self.call("PUT", f"/{bucket}")
        self.requests.clear()

    def _right(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        answer: Iterable[bytes] = self.app(environ, start)
        return answer

    def _fault(self, request: str) -> Spoiled | Callable[[], object] | None:
        for fault in self.faults:
            if fault.times and re.match(fault.requests, request):
                fault.times -= 1
                return fault.answer
        return None


def _half(body: bytes) -> Iterator[bytes]:
    yield body[: len(body) // 2]
    raise ConnectionAbortedError


@contextmanager
def serving() -> Iterator[ObjectStore]:
    """Serve on a free port until the block ends.

    Raises:
        ImportError: the extra ``engines`` is not installed.
    """
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    store = ObjectStore(DomainDispatcherApplication(create_backend_app))
    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    server = make_server("127.0.0.1", 0, store, threaded=True)
    store.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield store
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
