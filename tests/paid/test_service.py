"""The terms of buying: what a `PaidService` takes, and what it refuses."""

from __future__ import annotations

import copy
import pickle
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

import pipeline
from pipeline.cli.app import app


@pytest.mark.parametrize(
    ("terms", "hint"),
    [
        ({"base_url": "service.example"}, "Give base_url"),
        ({"base_url": None}, "base_url must be text."),
        ({"api_key": 5}, "api_key must be text."),
        ({"ledger": 5}, "ledger must be the path of a file."),
        ({"ledger": ""}, "ledger must be the path of a file."),
        ({"rate": "fast"}, "Give rate"),
        ({"rate": 100}, "Give rate"),
        ({"workers": 0}, "workers must be a whole number from 1"),
        ({"workers": "16"}, "workers must be a whole number from 1"),
        ({"max_cost": "a lot"}, "Write an amount such as 2.50"),
        ({"max_cost_per_day": "1,50"}, "Write an amount such as 2.50."),
        ({"max_cost_per_month": "$7"}, "Write an amount such as 2.50."),
        ({"max_price": -1}, "Write an amount such as 2.50."),
        ({"max_duration": 5}, "max_duration must be a duration, such as 60s, 5m"),
        ({"timeout": "0s"}, "timeout must be a time"),
        ({"max_age": "3w"}, "max_age must be a duration"),
        ({"burst": "yes"}, "burst must be True or False"),
        ({"on_unconfirmed": "maybe"}, "on_unconfirmed must be one of retry, hold."),
    ],
)
def test_terms_that_make_no_sense_are_refused_with_ones_that_would(
    terms: dict[str, Any], hint: str
) -> None:
    with pytest.raises(pipeline.SettingsError) as refusal:
        pipeline.PaidService(**{"base_url": "https://service.example", **terms})
    assert hint in refusal.value.hint


def test_errors_about_terms_are_in_pythons_words_and_end_at_the_constructor() -> None:
    with pytest.raises(pipeline.SettingsError) as refusal:
        pipeline.PaidService("https://service.example", rate="4 potatoes")
    assert refusal.value.hint.startswith("Give rate attempts per window")
    assert len(refusal.traceback) == 2


def test_a_change_of_folder_changes_no_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With another ledger, it would buy everything again."""
    monkeypatch.chdir(tmp_path)
    service = pipeline.PaidService("https://service.example", ledger="own.db")
    monkeypatch.chdir("/")
    assert service.ledger.absolute() == tmp_path / "own.db"


def test_a_notebook_has_the_ledger_of_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """With another ledger, it would buy what a nightly run has bought."""
    monkeypatch.setenv("TENDER_PIPELINE_LEDGER", "/srv/ledger.db")
    assert pipeline.PaidService("https://service.example").ledger == Path("/srv/ledger.db")
    own = pipeline.PaidService("https://service.example", ledger="own.db")
    assert own.ledger == Path("own.db").absolute()
    monkeypatch.setenv("TENDER_PIPELINE_LEDGER", "")
    assert pipeline.PaidService("https://service.example").ledger.name == "ledger.db"


@pytest.mark.parametrize("key", ["two words", "line\nend", "ключ", "tab\tend", "\x7f", "\ud800"])
def test_a_key_that_no_header_carries_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(pipeline.SettingsError) as caught:
        pipeline.PaidService("https://service.example", key)
    assert "account dashboard" in caught.value.hint
    assert caught.value.__cause__ is None
    assert key not in str(caught.value)


@pytest.mark.parametrize("empty", ["", " \n"])
def test_an_empty_key_is_a_mistake_and_not_a_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty: str
) -> None:
    """It is a file that a deployment did not fill, or a variable without its secret."""
    url = "https://service.example"
    with pytest.raises(pipeline.SettingsError, match="of api_key is empty") as refusal:
        pipeline.PaidService(url, empty)
    assert "without a key, demo requests are sent" in refusal.value.hint
    (tmp_path / "key").write_text(empty)
    paid = ["--base-url", url, "--ledger", str(tmp_path / "l.db")]
    (tmp_path / "in.csv").write_text("description\nroad works\n")
    for command in (["run", str(tmp_path / "in.csv")], ["doctor", "--systems", "naics"]):
        for key in (["--api-key-file", str(tmp_path / "key")], []):
            if not key:
                monkeypatch.setenv("TENDER_PIPELINE_API_KEY", empty)
            done = CliRunner().invoke(app, [*command, *paid, *key])
            name = "--api-key-file" if key else "TENDER_PIPELINE_API_KEY"
            assert f"The API key of {name} is empty." in done.output + str(done.exception)
            assert "Ready to run" not in done.output
    with pytest.raises(pipeline.SettingsError, match="of TENDER_PIPELINE_API_KEY is empty"):
        pipeline.PaidService(url)


def test_anything_but_a_service_is_refused(frame: pd.DataFrame) -> None:
    service: Any = "https://service.example"
    with pytest.raises(pipeline.SettingsError) as refusal:
        pipeline.classify(frame, service=service)
    assert "pipeline.PaidService(" in refusal.value.hint


def test_a_key_that_would_cross_a_network_unencrypted_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="unencrypted") as warned:
        pipeline.PaidService("http://service.example", api_key="a-key")
    assert warned[0].filename == __file__


def test_a_service_is_not_sent_to_another_process() -> None:
    """It would buy the same answers with a ledger of its own, and its key would travel."""
    service = pipeline.PaidService("https://service.example", api_key="secret")
    with pytest.raises(pipeline.SettingsError, match=r"another process.*pipeline\.spark\.classify"):
        pickle.dumps(service)
    assert copy.deepcopy({"service": service})["service"] is copy.copy(service) is service


def test_a_service_is_refused_on_a_spark_executor(monkeypatch: pytest.MonkeyPatch) -> None:
    class Task:
        current: object = None

        @classmethod
        def get(cls) -> object:
            return cls.current

    monkeypatch.setitem(sys.modules, "pyspark", SimpleNamespace(TaskContext=Task))
    assert pipeline.PaidService("https://service.example").rate is None  # this is the driver
    Task.current = object()
    with pytest.raises(pipeline.SettingsError, match=r"Spark executor.*buy in the driver"):
        pipeline.PaidService("https://service.example")
