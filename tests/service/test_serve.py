"""The command as a user or a supervisor meets it: a real process on a real socket."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

import pipeline
from pipeline import service
from pipeline.cli.serve import METADATA, serve
from pipeline.errors import SettingsError
from pipeline.service import Accounts
from pipeline.service.faults import Record
from tests.service.conftest import exact

COMMAND = [sys.executable, "-m", "pipeline", "serve"]


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False
    )


@contextmanager
def serving(*arguments: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run the service on a free port; give the process and the address that it prints."""
    process = subprocess.Popen(
        [*COMMAND, "--port", "0", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("Serving on http://127.0.0.1:"), process.stderr
        yield process, line.split()[-1]
    finally:
        process.kill()
        process.communicate()


def test_an_account_is_opened_used_and_charged_and_the_service_stops_in_good_order(
    tmp_path: Path,
) -> None:
    opened = run("--data", tmp_path, "--new-account")
    assert opened.returncode == 0
    key = opened.stdout.splitlines()[-1]
    assert re.fullmatch(r"tp_[\w-]{43}", key)
    assert key not in opened.stderr
    assert "5.00 USD" in opened.stderr
    limits = ["--rate", "2/min", "--demo-rate", "1/hour"]
    with (
        serving("--data", tmp_path, *limits) as (process, address),
        httpx.Client(base_url=address, trust_env=False) as client,
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
        process.send_signal(signal.SIGTERM)  # while a connection is kept open
        stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == 0
    assert stdout == ""
    lines = [line.split(" ", 2) for line in stderr.splitlines()]
    assert [line[2].split(" ")[:3] for line in lines] == [
        ["GET", "/health", "200"],
        ["POST", "/api/cpv/match", "200"],
        ["POST", "/api/cpv/match", "200"],
        ["POST", "/api/cpv/match", "429"],
        ["POST", "/api/cpv/match", "413"],
        ["POST", "/api/cpv/match", "429"],
    ]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", line[0]) for line in lines)
    accounts = Accounts(tmp_path)
    holder = accounts.keys.holder(key)
    assert holder is not None
    paid = exact(responses[0])["metadata"]["costBreakdown"]["finalCost"]
    assert accounts.balance(holder.account_id) == 5 - 2 * paid
    accounts.close()


def test_a_call_under_way_is_answered_before_an_interrupt_stops_the_service(tmp_path: Path) -> None:
    body = b'{"description": "Office chairs"}'
    head = (
        "POST /api/naics/match HTTP/1.1\r\nHost: service\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n"
    )
    with serving("--data", tmp_path, "--metadata", "compact") as (process, address):
        place = ("127.0.0.1", int(address.rpartition(":")[2]))
        with socket.create_connection(place, timeout=30) as caller:
            caller.sendall(head.encode())
            assert caller.recv(1000).startswith(b"HTTP/1.1 100 ")  # it is being waited for
            process.send_signal(signal.SIGINT)
            while takes_connections(place):
                pass
            caller.sendall(body)
            with caller.makefile("rb") as answer:
                received = answer.read()
            assert received.startswith(b"HTTP/1.1 200 ")
            assert b'"metadata": {"cost": {"apiCost": 0.0' in received
        _, stderr = process.communicate(timeout=30)
        assert process.returncode == 0
        assert "Traceback" not in stderr


def test_a_bad_night_is_announced_recorded_and_told(tmp_path: Path) -> None:
    faults = tmp_path / "night.toml"
    faults.write_text('seed = 7\n[[fault]]\nkind = "gateway"\nrequests = [2]\n', "utf-8")
    key = run("--data", tmp_path, "--new-account").stdout.splitlines()[-1]
    with (
        serving("--data", tmp_path, "--faults", faults) as (process, address),
        httpx.Client(base_url=address, trust_env=False, headers={"X-API-Key": key}) as client,
    ):
        request = {"description": "Resurfacing of a rural road"}
        statuses = [client.post("/api/cpv/match", json=request).status_code for _ in range(3)]
        assert statuses == [200, 502, 200]
        process.send_signal(signal.SIGTERM)
        _, stderr = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "Faults, seed 7:\n  gateway: requests 2\n" in stderr
    assert f"record of what happens: {tmp_path / 'record.db'}" in stderr
    assert "request 2 (cpv): gateway" in stderr
    assert re.search(r"^gateway +1 +1 +0\.0", stderr, re.MULTILINE)
    assert re.search(r"^all +3 +3 +0\.0", stderr, re.MULTILINE)
    accounts, record = Accounts(tmp_path), Record(tmp_path)
    assert [one.billed_usd for one in record.requests()] == [
        charge.price_usd for charge in accounts.statement.charges()
    ]
    record.close()
    accounts.close()


def test_bad_faults_are_refused_before_anything_is_served(tmp_path: Path) -> None:
    faults = tmp_path / "night.toml"
    faults.write_text('[[fault]]\nkind = "stall"\n', "utf-8")
    done = run("--data", tmp_path, "--faults", faults)
    assert done.returncode == 2
    assert "fault 1 (stall), seconds: it is missing." in done.stderr
    assert "Rehearsing a bad night" in done.stderr
    assert done.stdout == ""


def takes_connections(place: tuple[str, int]) -> bool:
    try:
        socket.create_connection(place, timeout=30).close()
    except OSError:
        return False
    return True


def test_a_port_in_use_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("--data", tmp_path, "--port", port)
    assert done.returncode == 2
    assert f"Nothing can listen on 127.0.0.1 port {port}" in done.stderr
    assert "--port 0 takes a free one." in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--data", "/dev/null/data"], "Name a folder that you may write to: --data DIR."),
        (["--rate", "fast"], "such as 100/min"),
        (["--demo-rate", "0/hour"], "such as 100/min"),
        (["--host", "256.0.0.1"], "--host"),
        (["--port", "70000"], "--port"),
        (["--metadata", "long"], "--metadata"),
    ],
)
def test_a_wrong_option_is_refused(tmp_path: Path, arguments: list[str], said: str) -> None:
    done = CliRunner().invoke(serve, ["--data", str(tmp_path), *arguments])
    assert done.exit_code != 0
    assert said in done.output + str(done.exception)


def test_options_have_variables_of_their_own(tmp_path: Path) -> None:
    variables = {
        "TENDER_PIPELINE_SERVE_DATA": str(tmp_path / "here"),
        "TENDER_PIPELINE_RATE": "fast",
    }
    done = CliRunner().invoke(serve, ["--new-account"], env=variables, catch_exceptions=False)
    assert done.exit_code == 0
    assert (tmp_path / "here" / "service.db").is_file()


def test_the_default_folder_is_in_the_users_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert CliRunner().invoke(serve, ["--new-account"]).exit_code == 0
    assert (tmp_path / "tender-pipeline" / "service" / "service.db").is_file()


def test_without_the_extra_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(pipeline, "service")
    monkeypatch.setitem(sys.modules, "pipeline.service", None)
    with pytest.raises(SettingsError) as refusal:
        serve.main(["--new-account"], standalone_mode=False)
    assert "tender-pipeline[service]" in refusal.value.hint


def test_the_metadata_forms_are_those_of_the_service() -> None:
    assert METADATA == service.METADATA
