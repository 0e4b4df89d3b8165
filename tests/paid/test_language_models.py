"""Buying from language models: one code of twenty or none, with exact money."""

from __future__ import annotations

import json
import logging
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import Response

import pipeline
from pipeline.answers import Matched
from pipeline.classification.summary import Summary
from pipeline.engine import Engine
from pipeline.errors import LedgerError, SettingsError
from pipeline.paid.ledger.database import Snapshot
from pipeline.paid.ledger.ledger import Ledger
from pipeline.paid.ledger.locks import buyer_lock, ledger_lock
from pipeline.paid.verify import problems
from tests.paid.chat_server import DISTINCT, TEXTS, ChatServer, chatting
from tests.paid.command_line import CommandLine, tender_pipeline
from tests.paid.serving import Buyer, serving, some

KEY = "sk-0123456789abcdef"
ZERO = Decimal(0)


def candidates(text: str, system: str = "cpv") -> list[str]:
    """Return the codes that the engine finds for a text."""
    (answers,) = Engine((system,), top=20).answers([[text]])  # type: ignore[arg-type]
    (answer,) = answers[system]  # type: ignore[index]
    assert isinstance(answer, Matched)
    return [match.code for match in answer.matches]


def check_books(server: ChatServer, user: Buyer, summary: Summary) -> None:
    """The server's books are what was confirmed and its price of what is unknown."""
    paid = summary.paid
    assert paid is not None
    assert paid.confirmed_usd == server.told
    unsure = server.charged - server.told
    assert ZERO <= unsure <= paid.at_risk_usd
    assert bool(unsure) == bool(paid.at_risk_usd)
    with Snapshot(user.service.ledger) as ledger:
        assert [*problems(ledger)] == []


def test_the_chosen_code_is_written_and_the_others_follow(tmp_path: Path) -> None:
    server = ChatServer(KEY, {"Maintenance of lifts": "C", "Software": "none"})
    with chatting(tmp_path, server) as user:
        summary = user.run()
        assert user.row_costs() == server.charged > 0
        again = user.run()
    check_books(server, user, summary)
    assert len(server.asked) == 2 * DISTINCT  # two systems, and nothing is bought twice
    assert again.paid is not None and again.paid.attempts == 0
    rows = user.rows()
    assert rows[0]["cpv_code"] == candidates(TEXTS[0])[2]
    assert rows[3]["cpv_code"] == rows[0]["cpv_code"]
    assert rows[2]["psc_code"] == candidates(TEXTS[2], "psc")[0]
    assert user.statuses() == ["ok", "empty", "ok", "ok", "no_match"]
    assert rows[0]["cpv_confidence"] == "0.9"


@pytest.mark.parametrize("what", ["lost", "silent", "html", "empty", "refusal"])
def test_what_an_answer_cost_is_known_or_at_risk(tmp_path: Path, what: str) -> None:
    server = ChatServer(KEY, script=["", what])
    with chatting(tmp_path, server, workers=1) as user:
        summary = user.run()
        again = user.run()
    check_books(server, user, summary)
    assert again.paid is not None and again.paid.attempts == 0
    wrong = {"html": "MALFORMED_RESPONSE", "empty": "MALFORMED_RESPONSE"}
    expected = wrong.get(what, "MODEL_REFUSED" if what == "refusal" else "ok")
    assert user.statuses("psc")[0] == expected


@pytest.mark.parametrize(
    ("what", "code", "said"),
    [
        ("wrong key", 4, "does not accept the API key: Incorrect API key"),
        ("no money", 5, "balance is too low: No"),
        ("broke", 5, "balance is too low: Payment required"),
        ("wrong model", 6, "HTTP 404, no such model"),
        ("empty", 6, "cannot be understood: the response has no message"),
    ],
)
def test_what_no_other_call_could_mend_parks(
    tmp_path: Path, what: str, code: int, said: str
) -> None:
    server = ChatServer(KEY, script=[what] * 40)
    with chatting(tmp_path, server) as user:
        user.write([f"Maintenance of {number} lifts" for number in range(20)])
        summary = user.run()
        assert some(summary.parked).exit_code == code
        assert said in some(summary.parked).message
        server.script.clear()
        assert user.run().parked is None
    lasting = 2 if what == "empty" else 0  # one of each system was paid for
    assert [*user.statuses(), *user.statuses("psc")].count("ok") == 40 - lasting


def test_a_cap_at_the_plans_highest_figure_completes(tmp_path: Path) -> None:
    texts = [chr(letter) * 10_000 + " lifts" for letter in (0x61, 0x3B6, 0x52A1)] + TEXTS
    server = ChatServer(KEY, more=200)
    with chatting(tmp_path, server) as user:
        user.write(texts)
        plan = user.plan()
        assert not server.asked
        capped = user.but(max_cost=plan.high_usd)
        summary = capped.run()
    assert summary.parked is None
    check_books(server, user, summary)
    assert plan.low_usd <= server.charged <= plan.high_usd


def test_a_cap_below_what_one_call_may_cost_sends_nothing(tmp_path: Path) -> None:
    server = ChatServer(KEY)
    with chatting(tmp_path, server, max_cost="0.0005") as user:
        parked = user.run().parked
    assert parked is not None and parked.exit_code == 5
    assert not server.asked


def test_a_model_that_is_too_dear_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    server = ChatServer(KEY)
    with pytest.raises(SettingsError, match=r"may cost 0\.0189 USD"):
        chatting(tmp_path, server, token_prices="5/25").__enter__()
    with chatting(tmp_path, server, token_prices="5/25", max_price="0.0189") as user:
        assert user.plan().high_usd == Decimal("0.0189") * 6
    assert not server.asked


def test_two_models_at_one_address_share_the_days_limit_and_no_answers(tmp_path: Path) -> None:
    server = ChatServer(KEY)
    with chatting(tmp_path, server) as user:
        user.run()
        spent = server.charged
        other = user.but(language_model="org/large:8b")
        assert other.plan().to_buy == 6
        capped = other.but(max_cost_per_day=spent + Decimal("0.0006"))
        parked = capped.run()
        assert "limit of this day" in some(parked.parked).message
        assert server.charged - spent <= Decimal("0.0006")
        summary = other.run()
        assert server.models.count("small-1") == server.models.count("org/large:8b") == 6
        assert user.run().paid is not None
        assert len(server.models) == 12
        frame = other.service.spent()
    assert (
        frame["confirmed_usd"].sum() == server.charged - spent == some(summary.paid).confirmed_usd
    )


def test_one_model_at_an_address_is_bought_from_at_a_time(tmp_path: Path) -> None:
    server = ChatServer(KEY)
    with chatting(tmp_path, server) as user:
        service = user.service
        Ledger(service.ledger, service.endpoint).close()  # a lock is beside it
        locks = (
            buyer_lock(service.base_url, service.key_fingerprint, wait=False),
            ledger_lock(service.ledger, service.base_url, wait=False),
        )
        for lock in locks:
            with lock, pytest.raises(LedgerError, match="Another"):
                user.run()
    assert not server.asked


def test_changed_prices_change_no_old_cost(tmp_path: Path) -> None:
    server = ChatServer(KEY)
    with chatting(tmp_path, server) as user:
        user.run()
        before = server.charged
        user.write([*TEXTS, "Ambulances"])
        server.prices = Decimal("1.123456789012"), Decimal("0.000000000001")
        dearer = user.but(token_prices=server.prices)
        summary = dearer.run()
        assert some(summary.paid).confirmed_usd == server.charged - before
        assert user.row_costs() == server.charged - before
        books = dearer.service.spent()
    assert books["confirmed_usd"].sum() == server.charged
    with Snapshot(user.service.ledger) as ledger:
        assert [*problems(ledger)] == []


def test_a_free_server_costs_nothing_and_a_cap_of_nothing_holds_nobody_up(tmp_path: Path) -> None:
    server = ChatServer(None, script=["", "silent"], prices=(ZERO, ZERO))
    with chatting(tmp_path, server, token_prices=0, max_cost=0) as user:
        plan = user.plan()
        summary = user.run()
    assert plan.low_usd == plan.high_usd == 0
    assert summary.parked is None and summary.paid is not None
    assert summary.paid.confirmed_usd == summary.paid.unknown == summary.paid.at_risk_usd == 0
    assert user.row_costs() == 0


def test_a_text_without_candidates_is_not_sent_and_proves_nothing(tmp_path: Path) -> None:
    server = ChatServer(KEY, script=["wrong key"] * 9)
    with chatting(tmp_path, server, workers=4) as user:
        user.write(["12345", "ζζζ", "Maintenance of lifts", "Winterdienst"])
        parked = user.run()
        assert parked.parked is not None and parked.parked.exit_code == 4
        assert len(server.asked) <= 2  # one of each system, not one of each worker
        server.script.clear()
        summary = user.run()
        assert summary.parked is None
        assert user.plan().to_buy == 0
        user.write(["Software"])
        assert user.plan().low_usd > 0
    check_books(server, user, summary)
    assert {text for _, text in server.asked} == {"Maintenance of lifts", "Winterdienst"}
    rows = user.rows()
    assert [row["cpv_status"] for row in rows] == ["no_match", "no_match", "ok", "ok"]


@pytest.mark.parametrize(
    "refuses", [{"temperature"}, {"max_tokens"}, {"temperature", "max_tokens"}]
)
def test_requests_adapt_once_while_one_call_is_sent_at_a_time(
    tmp_path: Path, refuses: set[str]
) -> None:
    server = ChatServer(KEY, refuses=frozenset(refuses))
    with chatting(tmp_path, server, workers=8) as user:
        summary = user.run()
    check_books(server, user, summary)
    assert some(summary.paid).attempts == 6 + len(refuses)
    assert {*user.statuses()} == {"ok", "empty"}


def test_the_ledger_has_neither_the_text_nor_the_key(tmp_path: Path) -> None:
    secret = "Instandhaltung unauffindbarer Aufzugsanlagen"
    server = ChatServer(KEY, {secret: f"I choose A, {KEY}"})
    with chatting(tmp_path, server, on_unconfirmed="hold") as user:
        user.write([*TEXTS, secret])
        user.run()
        with closing(sqlite3.connect(user.service.ledger)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            found = connection.execute("SELECT body FROM bodies").fetchall()
    bodies = [zlib.decompress(body) for (body,) in found]
    everything = user.service.ledger.read_bytes() + b"".join(bodies)
    assert len(bodies) == 8
    for hidden in (secret, TEXTS[0], KEY, "unauffindbar"):
        assert hidden.encode() not in everything


def test_only_the_key_that_was_named_for_it_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody-else")
    server = ChatServer(None)  # refuses every key
    with chatting(tmp_path, server) as user:
        assert user.run().parked is None
    monkeypatch.setenv("TENDER_PIPELINE_API_KEY", KEY)
    server = ChatServer(KEY)
    with chatting(tmp_path, server) as user:
        named = user.but(api_key=None)
        assert named.run().parked is None
    assert len(server.asked) == 6


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


def test_a_language_model_needs_an_address(
    chat: CommandLine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tender_pipeline("run", chat.table, *MODEL) == 2
    assert "--language-model and --token-prices are for buying answers" in capsys.readouterr().err


def test_prices_in_a_file_that_was_only_found_are_not_trusted(
    chat: CommandLine, server: ChatServer
) -> None:
    Path("tender-pipeline.toml").write_text('token-prices = "0"\n')
    assert chat("run", "--language-model", "small-1", "--max-cost", "0.001") == 2
    assert "says that tokens cost '0', and nobody has confirmed that" in chat.err
    assert not server.asked


def test_doctor_asks_for_the_models_without_a_key(chat: CommandLine) -> None:
    asked: list[tuple[str, str, Any]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        asked.append((scope["method"], scope["path"], dict(scope["headers"]).get(b"authorization")))
        await Response("{}")(scope, receive, send)

    with serving(app) as address:
        terms = ["--base-url", f"{address}/v1", "--ledger", chat.ledger, *MODEL]
        assert tender_pipeline("doctor", *terms) == 0
    assert asked == [("GET", "/v1/models", None)]


def test_the_engine_and_a_language_model_are_compared_on_the_same_rows(
    chat: CommandLine, server: ChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ["description,code", "Maintenance of lifts,50750000", "Winterdienst,90620000"]
    chat.table.write_text("\n".join([*rows, "Ambulances,34114121", ""]))
    server.choices = {"Winterdienst": "none"}
    paid = ["--ledger", chat.ledger, "--max-cost", "0.01", *MODEL, "--json"]
    compared = ["evaluate", chat.table, "--system", "cpv", "--compare", "engine", chat.address]
    assert tender_pipeline(*compared, *paid) == 0
    found = json.loads(capsys.readouterr().out)
    engine, model = found["subjects"]
    assert (engine["name"], model["name"]) == ("embedded engine", f"small-1 at {chat.address}")
    assert Decimal(model["cost"]["answers_usd"]) == server.charged
    assert len(server.asked) == 3
    assert found["rows"] == 3


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
