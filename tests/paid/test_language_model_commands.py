"""Buying from language models with the commands, and from Python."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import pipeline
from pipeline.cli import main
from tests.paid.chat_server import TEXTS, ChatServer
from tests.paid.command_line import CommandLine
from tests.paid.serving import serving

KEY = "sk-0123456789abcdef"
MODEL = ("--language-model", "small-1", "--token-prices", "0.15/0.60")


@pytest.fixture
def server() -> ChatServer:
    return ChatServer(KEY)


@pytest.fixture
def chat(
    server: ChatServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[CommandLine]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TENDER_PIPELINE_API_KEY", KEY)
    line = CommandLine(tmp_path, capsys)
    line.write(*filter(None, TEXTS))
    with serving(server) as address:
        line.address = f"{address}/v1"
        yield line


def tender_pipeline(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as exit_:
        patch.setattr(sys, "argv", ["tender-pipeline", *arguments])
        main()
    out, err = capsys.readouterr()
    return int(exit_.value.code or 0), out, err


def test_a_plan_says_what_it_costs_and_a_run_where_the_texts_go(
    chat: CommandLine, server: ChatServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    assert chat("plan", *MODEL) == 0
    assert "3 to buy: 0.0003744 to 0.0015858 USD" in chat.out
    assert "0.15/0.6 USD per million input/output tokens" in chat.out
    assert not server.asked
    assert chat("run", *MODEL, "--max-cost", "0.0015858") == 0
    assert caplog.text.count(f"The texts go to small-1 at {chat.address}.") == 1
    assert f"{server.charged:f}".rstrip("0") in chat.out
    manifest = json.loads(chat.output.with_name("out.csv.manifest.json").read_text())
    assert manifest["service"] == f"{chat.address}#small-1"
    assert KEY not in json.dumps(manifest) + chat.err + chat.out + caplog.text


def test_a_key_and_fields_are_for_the_server_that_is_named(
    chat: CommandLine, server: ChatServer
) -> None:
    server.refuses = frozenset({"temperature"})
    fields = ("--request-field", "temperature=null", "--request-field", "max_tokens=300")
    assert chat("run", *MODEL, *fields, "--json") == 0
    assert chat.summary["paid"]["attempts"] == 3


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--language-model", "m"), "token_prices is missing"),
        (("--token-prices", "0"), "are for a language model, and none is named"),
        (("--language-model", "m", "--token-prices", "7"), "token_prices is '7'"),
        ((*MODEL, "--request-field", "n=2"), "'n', which this tool sets itself"),
        ((*MODEL, "--max-price", "0.0001"), "may cost 0.0005286 USD"),
        ((*MODEL, "--explain"), "--explain is for the embedded engine"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_sent(
    chat: CommandLine, server: ChatServer, more: tuple[str, ...], said: str
) -> None:
    assert chat("run", *more) == 2
    assert said in chat.err
    assert not server.asked


def test_a_language_model_needs_an_address(
    chat: CommandLine, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = tender_pipeline(capsys, "run", str(chat.table), *MODEL)
    assert code == 2
    assert "--language-model, --token-prices are for buying answers" in err


def test_prices_in_a_file_that_was_only_found_are_not_trusted(
    chat: CommandLine, server: ChatServer
) -> None:
    Path("tender-pipeline.toml").write_text('token-prices = "0"\n')
    assert chat("run", "--language-model", "small-1", "--max-cost", "0.001") == 2
    assert "says that tokens cost '0', and nobody has confirmed that" in chat.err
    assert not server.asked


def test_doctor_asks_for_the_models_without_a_key(
    chat: CommandLine, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[str, str, Any]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        asked.append((scope["method"], scope["path"], dict(scope["headers"]).get(b"authorization")))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})

    with serving(app) as address:
        terms = ["--base-url", f"{address}/v1", "--ledger", str(chat.ledger), *MODEL]
        code, out, _ = tender_pipeline(capsys, "doctor", *terms)
    assert code == 0, out
    assert asked == [("GET", "/v1/models", None)]


def test_the_engine_and_a_language_model_are_compared_on_the_same_rows(
    chat: CommandLine, server: ChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ["description,code", "Maintenance of lifts,50750000", "Winterdienst,90620000"]
    chat.table.write_text("\n".join([*rows, "Ambulances,34114121", ""]))
    server.choices = {"Winterdienst": "none"}
    paid = ["--ledger", str(chat.ledger), "--max-cost", "0.01", *MODEL]
    compared = ["evaluate", str(chat.table), "--system", "cpv", "--compare", "engine", chat.address]
    code, out, _ = tender_pipeline(capsys, *compared, *paid, "--json")
    assert code == 0
    found = json.loads(out)
    engine, model = found["subjects"]
    assert (engine["name"], model["name"]) == ("embedded engine", f"small-1 at {chat.address}")
    assert Decimal(model["cost"]["answers_usd"]) == server.charged
    assert len(server.asked) == 3
    assert found["comparison"]["flips"]["rows"] == 3


def test_a_data_frame_is_bought_from_a_language_model(
    chat: CommandLine, server: ChatServer
) -> None:
    service = pipeline.PaidService(
        chat.address,
        ledger=chat.ledger,
        language_model="small-1",
        token_prices=(Decimal("0.15"), "0.60"),
        request_fields={"max_tokens": 300},
    )
    frame = pd.DataFrame({"description": TEXTS})
    result = pipeline.classify(frame, systems="cpv", top=3, service=service)
    assert result.cost_usd == server.charged > 0
    matches = result.to_pandas()["cpv_matches"][0]
    assert len(matches) == 3
    assert "small-1" in repr(service) and KEY not in repr(service)


def test_python_names_arguments_in_errors() -> None:
    with pytest.raises(pipeline.SettingsError) as caught:
        pipeline.PaidService("http://127.0.0.1:1/v1", language_model="m", token_prices="5/25")
    assert "max_price allows 0.01 USD" in str(caught.value)
    assert 'max_price="0.0189"' in str(caught.value)
    with pytest.raises(TypeError, match="token_prices"):
        pipeline.PaidService("http://127.0.0.1:1/v1", language_model="m", token_price="0")  # type: ignore[call-arg]


def test_a_language_model_may_take_minutes_unless_the_user_says_otherwise() -> None:
    model: dict[str, Any] = {"language_model": "m", "token_prices": 0}
    for terms, seconds in ((model, 300), (model | {"timeout": "1s"}, 1), ({}, 60)):
        service = pipeline.PaidService("http://127.0.0.1:1/v1", **terms)
        assert service.timeout.total_seconds() == seconds
    with pytest.raises(pipeline.SettingsError, match="greater than zero"):
        pipeline.PaidService("http://127.0.0.1:1", timeout="0s")


def test_texts_that_go_out_unencrypted_are_warned_of() -> None:
    with pytest.warns(UserWarning, match=r"the texts go to http://models\.example/v1 unencrypted"):
        pipeline.PaidService("http://models.example/v1", language_model="m", token_prices=0)
