from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from starlette.responses import Response

from pipeline.cli.commands import doctor as checks
from pipeline.cli.commands.doctor import doctor
from pipeline.cli.run_options import RunOptions
from pipeline.errors import SettingsError
from pipeline.paid.ledger.ledger import Ledger
from pipeline.purchases import IN_MEMORY
from tests.paid.serving import serving

KEY = "tp_0123456789abcdef"


@dataclass
class Service:
    """A service on loopback that answers every request alike."""

    address: str = ""
    status: int = 405
    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)


@pytest.fixture(scope="module")
def server() -> Iterator[Service]:
    service = Service()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        service.requests.append((scope["method"], scope["path"], headers))
        await Response(status_code=service.status)(scope, receive, send)

    with serving(app) as service.address:
        yield service


@pytest.fixture
def service(server: Service, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Service:
    monkeypatch.setenv("TENDER_PIPELINE_API_KEY", KEY)
    monkeypatch.chdir(tmp_path)
    server.requests.clear()
    server.status = 405
    return server


def checked(*options: object) -> tuple[int, dict[str, dict[str, Any]]]:
    """Return (the exit code, the checks by name) of one system."""
    done = CliRunner().invoke(
        doctor, ["--systems", "naics", "--json", *map(str, options)], standalone_mode=False
    )
    assert done.exception is None, done.exception
    figures = json.loads(done.stdout)
    assert figures["ready"] == (done.return_value == 0)
    return done.return_value, {check["what"]: check for check in figures["checks"]}


def test_without_a_service_all_is_checked_and_nothing_is_asked(
    service: Service, tmp_path: Path
) -> None:
    code, found = checked("--ledger", tmp_path / "none.db")
    assert code == 0
    assert {check["verdict"] for check in found.values()} == {"ok"}
    assert "engine naics" in found
    assert "the first paid run creates it" in found["ledger"]["found"]
    assert not (tmp_path / "none.db").exists()
    assert not service.requests


def test_open_jobs_are_counted_those_in_memory_apart(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    ledger = Ledger(path, "https://service.example")
    assert checks.check_ledger(path, None).found.endswith("open jobs: 0")
    ledger.open_job("file").describe("/in.csv", "/out.csv", 2)
    ledger.open_job("frame").describe(IN_MEMORY, IN_MEMORY, 2)
    ledger.close()
    said = "open jobs: 2, 1 of them of a table in memory; to list them: tender-pipeline ledger jobs"
    assert f"{said} --ledger {path}" in checks.check_ledger(path, None).found


def test_the_service_gets_one_request_that_buys_nothing_and_has_no_key(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, found = checked("--base-url", service.address)
    assert code == 0
    ((method, path, headers),) = service.requests
    assert (method, path) == ("GET", "/api/cpv/match")
    assert KEY not in str(headers)
    assert "HTTP 405" in found["service"]["found"]
    monkeypatch.delenv("TENDER_PIPELINE_API_KEY")
    code, found = checked("--base-url", service.address)
    assert (code, "demo requests only" in found["key"]["found"]) == (0, True)


@pytest.mark.parametrize(
    ("status", "verdict", "said"),
    [
        (301, "error", "redirects"),
        (404, "ok", "HTTP 404; only the first call shows"),  # without GET, or a wrong address
        (500, "error", "an error of its own"),
        (503, "error", "an error of its own"),
        (501, "ok", "as expected: GET buys nothing"),
        (401, "ok", "as expected: the request has no key"),
        (403, "warning", "A firewall, a proxy"),
        (407, "error", "or a proxy"),
        (429, "warning", "a rate limit"),
    ],
)
def test_what_a_service_answers_with_is_judged(
    service: Service, status: int, verdict: str, said: str
) -> None:
    service.status = status
    code, found = checked("--base-url", service.address)
    assert code == (SettingsError.exit_code if verdict == "error" else 0)
    assert found["service"]["verdict"] == verdict
    assert said in found["service"]["found"] + found["service"]["remedy"]
    assert bool(found["service"]["remedy"]) == (verdict != "ok")


def test_places_of_metrics_are_checked(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENDER_PIPELINE_METRICS_FILE", "t.txt")
    code, found = checked()
    assert code == SettingsError.exit_code
    assert found["metrics"]["verdict"] == "error"
    assert "t.txt does not end in .prom" in found["metrics"]["found"]
    monkeypatch.setenv("TENDER_PIPELINE_METRICS_FILE", "t.prom")
    code, found = checked()
    assert (code, found["metrics"]["found"]) == (0, "t.prom can be written")


def test_a_ledger_that_is_gone_or_is_none_is_an_error(service: Service, tmp_path: Path) -> None:
    (tmp_path / "it.db.locks").mkdir()
    for said in ("it.db is gone", "not a database"):
        code, found = checked("--ledger", tmp_path / "it.db")
        assert code == SettingsError.exit_code
        assert found["ledger"]["verdict"] == "error"
        assert said in found["ledger"]["found"]
        assert found["ledger"]["remedy"]
        (tmp_path / "it.db").write_text("no database at all, but a long enough text to be read")


def test_a_purchase_needs_room_and_locks_and_a_run_without_one_needs_neither(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "no folder").write_text("so nothing can be put into it")
    monkeypatch.setenv("HOME", str(tmp_path / "no folder"))
    for name in ("XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pipeline.paid.ledger.room.append_durably", full_disk)
    code, found = checked("--ledger", tmp_path / "ledger.db")
    assert (code, found["ledger"]["verdict"]) == (0, "ok")
    assert found["lock folder"]["verdict"] == "warning"
    code, found = checked("--ledger", tmp_path / "ledger.db", "--base-url", service.address)
    assert code == SettingsError.exit_code
    assert "has no room: No space left on device" in found["ledger"]["found"]
    assert "Free some space" in found["ledger"]["remedy"]
    assert found["lock folder"]["verdict"] == "error"


def test_a_folder_that_is_not_writable_is_named_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "nobody"
    monkeypatch.setattr(checks, "machine_folder", lambda: home / "tender-pipeline")
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) != tmp_path)
    found = {each.what: each.remedy for each in checks.check_installation(buys=False)}
    made = "a folder that this user may write to"
    assert found["lock folder"] == (
        f"Make {home / 'tender-pipeline'} {made}, or set HOME to a folder of this user."
    )
    assert checks.check_ledger(home / "ledger.db", None).verdict == "ok"
    ledger = checks.check_ledger(home / "ledger.db", 16)
    assert (ledger.verdict, ledger.found) == ("error", f"{tmp_path} is not writable")
    assert ledger.remedy == f"Make {home} {made}, or name another folder."


def full_disk(*_: object) -> None:
    """Fail as a write to a full disk does."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_options_that_no_run_accepts_are_an_error(service: Service) -> None:
    code, found = checked("--explain", "--base-url", service.address)
    assert code == SettingsError.exit_code
    assert found["settings"]["found"].startswith("--explain is for the embedded engine")
    assert checked("--explain")[1]["settings"]["verdict"] == "ok"
    code, found = checked("--rate", "x", "--base-url", service.address)
    assert code == SettingsError.exit_code
    assert found["settings"]["found"] == "The rate 'x' cannot be understood."


def test_people_read_what_to_do_below_what_is_wrong(service: Service) -> None:
    done = CliRunner().invoke(
        doctor,
        ["--systems", "naics", "--base-url", "http://127.0.0.1:9"],
        standalone_mode=False,
    )
    lines = done.stdout.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("ERROR   service: "))
    assert "http://127.0.0.1:9 does not answer (connection refused)" in lines[at]
    assert lines[at + 1].strip().startswith("Check --base-url")
    assert done.return_value == SettingsError.exit_code
    assert "Ready to run" not in done.stdout


def test_a_warning_about_the_options_is_printed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENDER_PIPELINE_API_KEY", "tp_0123456789")
    monkeypatch.setattr("pipeline.cli.commands.doctor._check_service", lambda _: ())
    options = ["--systems", "naics", "--base-url", "http://example.invalid", "--json"]
    done = CliRunner().invoke(doctor, options, standalone_mode=False)
    assert done.stderr.count("unencrypted") == 1


def files_of(**options: Any) -> dict[str, tuple[str, str]]:
    """Return the checks of a run's files: what was found, by name."""
    usual = dict.fromkeys(RunOptions.__dataclass_fields__)
    given = {"input_paths": (Path("-"),), "decisions": (), "overwrite": False}
    found = checks.check_files(RunOptions(**{**usual, **given, **options}))
    return {each.what: (each.verdict, each.found) for each in found}


def test_the_files_of_a_run_are_checked(tmp_path: Path) -> None:
    (tmp_path / "theirs.csv").write_text("a")
    (tmp_path / "page.html").write_text("a")
    wrong = files_of(
        output=tmp_path / "theirs.csv",
        report=tmp_path / "page.html",
    )
    assert {name: verdict for name, (verdict, _) in wrong.items()} == {
        "output": "error",
        "report": "error",
    }
    assert "theirs.csv exists, and its manifest does not prove" in wrong["output"][1]
    right = files_of(output=tmp_path / "new" / "out.csv", report=tmp_path / "new.html")
    assert right["output"] == ("ok", f"{tmp_path / 'new' / 'out.csv'} can be written")
    assert right["report"][0] == "ok"
    assert files_of(output=tmp_path / "folder")["output"][0] == "ok"
    assert files_of(output=Path("-")) == {}
    assert not (tmp_path / "new").exists()


def test_little_room_where_the_output_goes_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "LEAST_ROOM", 2**80)
    verdict, found = files_of(output=tmp_path / "new" / "out.csv")["output"]
    assert (verdict, "GB free" in found) == ("warning", True)
