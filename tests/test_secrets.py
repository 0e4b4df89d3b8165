"""The API key is in nothing that a run prints or leaves behind, however the run ends."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.forking import Process
from tests.paid.serving import serving

MARK = "S3cretS3cret"
"""The middle of the key: no escaping of JSON or of addresses changes it."""

KEY = f"tp/<{MARK}>&+0"

RUN = ("-m", "pipeline")

FAILING = ("-X", "dev", "-c", """
import sys, traceback
from pipeline.paid import policy

def report(kind, error, trace):
    shown = traceback.TracebackException(kind, error, trace, capture_locals=True)
    print(*shown.format(), file=sys.stderr)

def fails(reply):
    raise RuntimeError(f"nobody expected {reply!r}")

sys.excepthook, policy.judge = report, fails
sys.argv[0] = "tender-pipeline"
sys.argv.append("--debug")
from pipeline.cli import main
main()
""")  # fmt: skip
"""Fails in the middle of buying, and shows every local variable of every function under way."""


@dataclass
class Echo:
    """A service that repeats the key wherever it can.

    Attributes:
        status: of its answers.
        error: their error type; none makes them successes.
        headers: more headers.
        asked: is set once a request is there.
        answering: is waited for before an answer is given.
    """

    status: int = 200
    error: str | None = None
    headers: tuple[tuple[bytes, bytes], ...] = ()
    asked: threading.Event = field(default_factory=threading.Event)
    answering: threading.Event = field(default_factory=threading.Event)

    def body(self, key: str) -> bytes:
        """Return an answer that has the key plain and escaped."""
        item = {"code": "45", "title": f"For {key}", "confidence": 0.9, "key": key}
        content = {
            "success": self.error is None,
            "message": f"The key {key} was used, {quote(key, safe='')} in an address.",
            "data": [item],
            "metadata": {"cost": {"apiCost": 0.0001}, "key": key},
            **({} if self.error is None else {"error": self.error.replace("KEY", key)}),
        }
        return json.dumps(content).replace("/", "\\/").encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        self.asked.set()
        while not self.answering.is_set():
            self.answering.wait(0.01)
        key = dict(scope["headers"])[b"x-api-key"].decode()
        body = self.body(key)
        headers = [(b"x-echo", key.encode()), (b"set-cookie", b"key=" + key.encode())]
        headers += [(b"content-length", str(len(body)).encode()), *self.headers]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


@dataclass
class Night:
    """A folder with everything that runs are given and all they may write to."""

    folder: Path
    said: list[bytes] = field(default_factory=list)

    def environment(self, in_file: bool) -> dict[str, str]:
        places = {
            name: str(self.folder / name.lower())
            for name in ("HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "TMPDIR")
        }
        for place in places.values():
            Path(place).mkdir(exist_ok=True)
        key = {} if in_file else {"TENDER_PIPELINE_API_KEY": KEY}
        kept = {"PATH", "PYTHONPATH", "LANG"}
        return {**{k: v for k, v in os.environ.items() if k in kept}, **places, **key}

    def start(
        self,
        address: str,
        *more: str,
        in_file: bool = False,
        how: tuple[str, ...] | None = None,
        rows: int = 3,
    ) -> Process | subprocess.Popen[bytes]:
        work = self.folder / "work"
        work.mkdir(exist_ok=True)
        texts = [f"road {row}" for row in range(rows)]
        (work / "in.csv").write_text("\n".join(["description", *texts]))
        options = ["--base-url", address, "--systems", "cpv", "--rate", "none", *more]
        if in_file:
            (self.folder / "key.txt").write_text(f"{KEY}\n")
            options += ["--api-key-file", "../key.txt"]
        command, environment = ["run", "in.csv", *options], self.environment(in_file)
        pipe = subprocess.PIPE
        if how is None:
            return Process(command, cwd=work, env=environment, stdout=pipe, stderr=pipe)
        command = [sys.executable, *how, *command]
        return subprocess.Popen(command, cwd=work, env=environment, stdout=pipe, stderr=pipe)

    def end(self, process: Process | subprocess.Popen[bytes]) -> int:
        self.said += process.communicate(timeout=60)
        return process.returncode

    def run(self, address: str, *more: str, **options: Any) -> int:
        return self.end(self.start(address, *more, **options))

    def left_behind(self) -> Iterator[tuple[str, bytes]]:
        """Yield everything that was said and written but for the file of the key itself."""
        yield from ((f"output {place}", text) for place, text in enumerate(self.said))
        for path in self.folder.rglob("*"):
            yield f"the name {path}", os.fsencode(path)
            if path.is_file() and path.name != "key.txt":
                yield str(path), path.read_bytes()
                yield from ((f"{path}: a body", body) for body in bodies(path))


def bodies(path: Path) -> list[bytes]:
    """Return the responses that a ledger keeps, which are compressed in it."""
    if path.name != "ledger.db":
        return []
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as ledger:
        return [zlib.decompress(body) for (body,) in ledger.execute("SELECT body FROM bodies")]


@pytest.fixture
def night(tmp_path: Path) -> Night:
    return Night(tmp_path)


def check_secret(night: Night, *expected: str) -> None:
    """Assert that nothing holds the key, and that what is looked at is what was meant to be."""
    found = dict(night.left_behind())
    assert [place for place, content in found.items() if MARK.encode() in content] == []
    assert MARK not in "".join(found)
    for name in expected:
        assert any(name in place for place in found), name


def answered(**service: Any) -> Echo:
    echo = Echo(**service)
    echo.answering.set()
    return echo


@pytest.mark.parametrize(
    ("form", "in_file"),
    [((), False), (("--json", "--top", "3"), True), (("--output", "out.parquet"), False)],
)
def test_a_run_that_ends_well(night: Night, form: tuple[str, ...], in_file: bool) -> None:
    with serving(answered()) as address:
        assert night.run(address, *form, in_file=in_file) == 0
    check_secret(night, "ledger.db", "a body", "manifest.json", ".lock")


@pytest.mark.parametrize(
    ("service", "code", "more"),
    [
        (answered(status=401, error="UNAUTHORIZED"), 4, ()),
        (answered(status=401, error="UNAUTHORIZED"), 4, ("--json",)),
        (answered(status=402, error="INSUFFICIENT_BALANCE"), 5, ()),
        (answered(status=400, error="BAD_KEY"), 3, ()),
        (answered(error="BAD KEY"), 3, ("--json",)),
    ],
)
def test_a_run_that_is_refused(
    night: Night, service: Echo, code: int, more: tuple[str, ...]
) -> None:
    with serving(service) as address:
        assert night.run(address, *more, in_file=not more) == code
    check_secret(night, "ledger.db")


def test_a_run_that_is_sent_to_a_page_to_log_in(night: Night) -> None:
    target = f"https://login.example/?key={quote(KEY, safe='')}&again={KEY}".encode()
    service = answered(status=302, headers=((b"location", target),))
    with serving(service) as address:
        assert night.run(address, rows=30) == 6
    assert b"a redirect to https://login.example/" in night.said[0]
    check_secret(night, "ledger.db")


@pytest.mark.parametrize("in_file", [False, True])
def test_a_run_that_is_killed_and_what_the_process_list_shows(night: Night, in_file: bool) -> None:
    service = Echo()
    with serving(service) as address:
        process = night.start(address, in_file=in_file, how=RUN)
        assert service.asked.wait(60)
        for shown in ("cmdline", "status"):
            night.said.append(Path(f"/proc/{process.pid}/{shown}").read_bytes())
        process.send_signal(signal.SIGKILL)
        assert night.end(process) == -signal.SIGKILL
        service.answering.set()
    names = [path.name for path in night.folder.rglob("*")]
    assert {"ledger.db-wal", "ledger.db-shm"} <= set(names)
    check_secret(night, "ledger.db-wal", "ledger.db-shm", ".lock")


def test_an_error_that_nobody_expected_even_where_local_variables_are_shown(night: Night) -> None:
    with serving(answered()) as address:
        assert night.run(address, how=FAILING) == 1
    assert b"nobody expected" in night.said[1]
    assert b"PaidService(base_url=" in night.said[1]
    check_secret(night, "ledger.db")


def test_settings_that_are_wrong_beside_the_key(night: Night) -> None:
    assert night.run("http://127.0.0.1:9", "--rate", "7") == 2
    assert night.run("http://service.example", "--ledger", "/dev") == 8
    assert b"the API key goes to http://service.example unencrypted" in night.said[-1]
    assert night.run(f"http://user:{quote(KEY, safe='')}@127.0.0.1:9") == 2
    assert night.run("http://127.0.0.1:9", "--api-key-file", KEY) == 2
    check_secret(night)
