"""The command as a user or a supervisor meets it: a real process on a real socket."""

from __future__ import annotations

import errno
import gc
import logging
import os
import re
import signal
import socket
import sys
from contextlib import closing
from pathlib import Path
from shlex import quote

import pytest
from click.testing import CliRunner

from pipeline.cli.commands.serve import serve
from pipeline.errors import SettingsError
from pipeline.service import app
from pipeline.service.accounts import Accounts
from pipeline.service.chaos.record import Record
from pipeline.service.server import Server
from tests.service.conftest import exact
from tests.service.processes import key_in, ran, serving


@pytest.fixture(autouse=True)
def _log_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command takes the log of its whole process."""
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", list(root.handlers))
    monkeypatch.setattr(root, "level", root.level)
    for name in ("_srcfile", "logThreads", "logProcesses", "logMultiprocessing"):
        monkeypatch.setattr(logging, name, getattr(logging, name))


def test_an_account_is_opened_used_and_charged_and_the_service_stops_in_good_order(
    tmp_path: Path,
) -> None:
    key = key_in(tmp_path)
    limits = ["--rate", "2/min", "--demo-rate", "1/hour"]
    with (
        serving(tmp_path, *limits) as server,
        server.client() as client,
    ):
        assert client.get("/health").json() == {"status": "ok"}
        request = {"description": "Resurfacing of a rural road"}
        headers = {"X-API-Key": key}
        responses = [client.post("/api/cpv/match", json=request, headers=headers) for _ in range(3)]
        assert [r.status_code for r in responses] == [200, 200, 429]
        assert 1 <= int(responses[2].headers["Retry-After"]) <= 60
        large = client.post(
            "/api/cpv/match",
            content=b" " * 3_000_000,
            headers={"Content-Type": "application/json"},
        )
        assert large.status_code == 413
        forwarded = {"X-Forwarded-For": "192.0.2.7"}
        demo = client.post("/api/cpv/match", json=request, headers=forwarded)
        assert demo.status_code == 429
        printed = server.ended(signal.SIGTERM)  # while a connection is kept open
    assert server.process.returncode == 0
    assert printed == f"Accounts: {tmp_path}\n"
    assert [(line["route"], line["status"]) for line in server.lines()] == [
        ("/api/cpv/match", 200),
        ("/api/cpv/match", 200),
        ("/api/cpv/match", 429),
        ("/api/cpv/match", 413),
        ("/api/cpv/match", 429),
    ]
    accounts = Accounts(tmp_path)
    holder = accounts.keys.holder(key)
    assert holder is not None
    paid = exact(responses[0])["metadata"]["costBreakdown"]["finalCost"]
    assert accounts.balance(holder.account_id) == 5 - 2 * paid
    accounts.close()


def test_a_bad_night_is_announced_recorded_and_reported(tmp_path: Path) -> None:
    faults = tmp_path / "night.toml"
    faults.write_text('seed = 7\n[[fault]]\nkind = "gateway"\nrequests = [2]\n', "utf-8")
    key = key_in(tmp_path)
    with (
        serving(tmp_path, "--faults", faults) as server,
        server.client(key) as client,
    ):
        request = {"description": "Resurfacing of a rural road"}
        statuses = [client.post("/api/cpv/match", json=request).status_code for _ in range(3)]
        assert statuses == [200, 502, 200]
        printed = server.ended(signal.SIGTERM)
    assert server.process.returncode == 0
    assert "Faults, seed 7:\n  gateway: requests 2\n" in printed
    assert f"record of what happens: {tmp_path / 'record.db'}" in printed
    assert re.search(r"^gateway +1 +1 +0\.0", printed, re.MULTILINE)
    assert re.search(r"^all +3 +3 +0\.0", printed, re.MULTILINE)
    messages = [line["message"] for line in server.lines()]
    assert messages == ["request", "request 2 (cpv): gateway", "request", "request"]
    accounts, record = Accounts(tmp_path), Record(tmp_path)
    assert [one.billed_usd for one in record.requests()] == [
        charge.price_usd for charge in accounts.statement.charges()
    ]
    record.close()
    accounts.close()


def test_a_port_in_use_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = ran("serve", "--data", tmp_path, "--port", port)
    assert done.returncode == 2
    said = f"Cannot listen on 127.0.0.1 port {port}: {os.strerror(errno.EADDRINUSE)}."
    assert said in done.stderr
    assert "\nChoose another --port; 0 takes a free one.\n" in done.stderr  # review has no --host
    assert "Traceback" not in done.stderr


VARIABLE = "TENDER_PIPELINE_SERVE_"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--data", "/dev/null/data"], "The folder /dev/null/data does not exist."),
        (["--rate", "fast"], "such as 100/min"),
        (["--host", "256.0.0.1"], "--host"),
        (["--port", "70000"], "--port"),
        (
            ["--trusted-proxy", "10.0.0.1", "--trusted-proxy", "proxy"],
            "'proxy' is neither an address",
        ),
        ({f"{VARIABLE}RATE": "quick"}, "'quick'"),
        ({f"{VARIABLE}TRUSTED_PROXY": "10.0.0.0/8 a,b"}, "'a'"),
        ({"TENDER_PIPELINE_RATE": "fast", f"{VARIABLE}HOST": "256.0.0.1"}, "256.0.0.1"),
    ],
)
def test_a_wrong_option_or_variable_of_the_service_is_refused(
    tmp_path: Path, arguments: list[str] | dict[str, str], said: str
) -> None:
    options, variables = (arguments, {}) if isinstance(arguments, list) else ([], arguments)
    usual = {f"{VARIABLE}DATA": str(tmp_path), f"{VARIABLE}PORT": "0"}
    done = CliRunner().invoke(serve, options, env=usual | variables)
    assert done.exit_code != 0
    assert said in done.output + str(done.exception)


@pytest.mark.parametrize("named", ["option", "variable"])
@pytest.mark.parametrize("name", ["not here", "below/a/file"])
def test_a_folder_that_is_named_and_not_there_is_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    nowhere = ["--host", "256.0.0.1"]  # so that it cannot serve in any case
    if named == "option":
        done = CliRunner().invoke(serve, ["--data", name, *nowhere])
    else:
        done = CliRunner().invoke(serve, nowhere, env={"TENDER_PIPELINE_SERVE_DATA": name})
    assert isinstance(done.exception, SettingsError)
    assert done.exception.exit_code == 2
    assert done.exception.message == f"The folder {name} does not exist."
    assert done.exception.hint == (
        f"Open an account in it: tender-pipeline accounts open --data {quote(name)}; "
        "or give the right folder: --data DIR."
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("named", [True, False])
def test_it_says_how_to_open_an_account_as_long_as_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    monkeypatch.setattr(app, "engine_matchers", dict)
    monkeypatch.setattr(Server, "run", lambda *_: None)
    monkeypatch.setattr(gc, "freeze", lambda: None)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    folder = tmp_path / "tender-pipeline" / "service"
    if named:
        folder = tmp_path / "my accounts"
        folder.mkdir()
    arguments = ["--port", "0", *(["--data", str(folder)] if named else [])]

    def said() -> list[str]:
        done = CliRunner().invoke(serve, arguments)
        assert done.exception is None or done.exit_code == 0, done.exception
        return done.output.splitlines()[1:]

    here = f" --data '{folder}'" if named else ""
    hint = f"No accounts yet. Sign up on the page, or open one: tender-pipeline accounts open{here}"
    assert said() == [f"Accounts: {folder}", hint]
    with closing(Accounts(folder)) as accounts:
        accounts.open()
    assert said() == [f"Accounts: {folder}"]


def test_without_the_extra_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pipeline.service.app", None)
    with pytest.raises(SettingsError) as refusal:
        serve.main([], standalone_mode=False)
    assert "[service]" in refusal.value.hint
