"""Stores that refuse, change or do not answer."""

from __future__ import annotations

import csv
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pipeline.files.cloud import Storage
from tests.cli.clouds.conftest import ENGINE, MANIFEST, OUTPUT, SECRET, TABLE, TEXT
from tests.cli.conftest import Capture, Command
from tests.files.object_store import Fault, ObjectStore
from tests.paid.serving import Service
from tests.paid.serving import serving as serving_paid


@pytest.mark.parametrize(
    ("table", "faults", "said"),
    [
        ("s3://nobody/t.csv", [], "cannot be read: there is no such bucket"),
        ("s3://bucket/in/none.csv", [], "cannot be read: there is no such object"),
        (TABLE, [Fault("HEAD /bucket/in", "denied")], "cannot be read: access is denied"),
        (TABLE, [Fault("GET /bucket/in", "throttled")], "throttling"),
        (TABLE, [Fault("GET /bucket/in", "cut")], "the connection was cut"),
        (TABLE, [Fault("(POST|PUT) /bucket/out", "denied")], f"{MANIFEST} cannot be written"),
    ],
)
def test_a_store_that_refuses_is_a_clear_error_before_anything_is_bought(
    command: Command,
    store: ObjectStore,
    service: Service,
    tmp_path: Path,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
    table: Any,
    faults: list[Fault],
    said: str,
) -> None:
    monkeypatch.setenv("TENDER_PIPELINE_API_KEY", service.account.key)
    store.faults[:] = faults
    paid = ("--systems", "cpv", "--ledger", tmp_path / "ledger.db", "--rate", "none")
    with serving_paid(service.app()) as url:
        code = command("run", table, "--output", OUTPUT, "--base-url", url, *paid)
    assert code == 2
    assert service.asked == []
    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error
    assert SECRET not in error


@pytest.mark.parametrize("answer", ["throttled", "cut"])
def test_a_store_that_refuses_once_is_asked_again(
    command: Command, store: ObjectStore, storage: Storage, answer: Any
) -> None:
    store.faults[:] = [Fault("GET /bucket/in/t.csv", answer, times=1)]
    assert command("run", TABLE, "--output", OUTPUT, *ENGINE) == 0
    assert store.requests.count("GET /bucket/in/t.csv") == 2
    assert len(list(csv.reader((storage.read(OUTPUT) or b"").decode().splitlines()))) == 80


def test_an_object_that_changes_or_vanishes_while_it_is_read_is_an_error(
    command: Command, store: ObjectStore, storage: Storage, capsys: Capture
) -> None:
    for method, said in (("PUT", "changed while"), ("DELETE", "there is no such object")):
        happens = partial(store.call, method, "/bucket/in/t.csv", TEXT.lower())
        store.faults[:] = [Fault("GET /bucket/in/t.csv", happens, times=1)]
        assert command("run", TABLE, "--output", OUTPUT, *ENGINE) == 2
        assert said in capsys.readouterr().err
        assert storage.read(OUTPUT) is None


def test_an_endpoint_that_does_not_answer_is_an_error(
    command: Command, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    assert command("run", TABLE) == 2
    assert "does not answer" in capsys.readouterr().err
