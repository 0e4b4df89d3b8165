"""One system that is down, or that refuses the key, does not hold up the others."""

from __future__ import annotations

import logging
from collections import Counter

import pytest

from pipeline.answers import SYSTEMS
from pipeline.paid.ledger.ledger import LedgerJob
from pipeline.paid.policy import FAILURES_IN_A_ROW
from pipeline.paid.pool import TRIES
from tests.paid.command_line import CommandLine
from tests.paid.model_server import ModelServer, buy, in_all_systems
from tests.paid.serving import Service, some

ROWS = 30
OTHERS = [system for system in SYSTEMS if system != "psc"]
REFUSED = '{"success": false, "error": "UNAUTHORIZED", "message": "Not your system."}'


@pytest.mark.parametrize("workers", [1, 4, 16])
@pytest.mark.parametrize(
    ("how", "error", "most"),
    [
        ("503", "HTTP_503", FAILURES_IN_A_ROW),
        ("internal", "INTERNAL_ERROR", FAILURES_IN_A_ROW),
        ("lost", "TIMEOUT", FAILURES_IN_A_ROW),
        ("unreadable", "MALFORMED_RESPONSE", FAILURES_IN_A_ROW),
        ("unauthorized", "UNAUTHORIZED", 1),
        ("503 for 9999", "HTTP_503", 1),
    ],
)
def test_the_others_are_bought_and_it_is_left_out_by_name(
    job: LedgerJob, how: str, error: str, most: int, workers: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    server = ModelServer([], {"psc": how})
    pool = buy(server, job, in_all_systems(ROWS), workers=workers, longest_pause=3600.0)
    assert pool.parked is None
    assert pool.down == {"psc": error}
    told = Counter(call.system for call in server.told)
    assert [told[system] for system in OTHERS] == [ROWS] * 3
    asked = sum(call.system == "psc" for call in server.asked)
    assert asked < most + workers  # those under way at the last failure
    assert sum("psc is left out of this run." in message for message in caplog.messages) == 1


@pytest.mark.parametrize("how", ["unauthorized", "503 for 9999"])
def test_the_first_system_of_a_table_may_be_the_one(job: LedgerJob, how: str) -> None:
    server = ModelServer([], {"cpv": how})
    pool = buy(server, job, in_all_systems(3), longest_pause=3600.0)
    assert pool.parked is None
    assert [*pool.down] == ["cpv"]
    assert sum(call.system != "cpv" for call in server.told) == 9
    assert sum(call.system == "cpv" for call in server.asked) == 1


def test_a_first_answer_that_cannot_be_read_does_not_hold_up_the_others(job: LedgerJob) -> None:
    pool = buy(ModelServer(["unreadable"]), job, in_all_systems(3))
    assert pool.parked is None
    assert pool.down == {}


@pytest.mark.parametrize(
    ("how", "exit_code", "most"),
    [
        ("unauthorized", 4, 4),
        ("unreadable", 6, 4),
        ("503 for 9999", 7, 4),
        ("503", 6, FAILURES_IN_A_ROW),
        ("not sent", 6, FAILURES_IN_A_ROW),
    ],
)
def test_if_none_is_left_the_run_parks_and_does_not_speak_of_single_ones(
    job: LedgerJob, how: str, exit_code: int, most: int, caplog: pytest.LogCaptureFixture
) -> None:
    server = ModelServer([], dict.fromkeys(SYSTEMS, how))
    pool = buy(server, job, in_all_systems(ROWS), longest_pause=3600.0)
    assert some(pool.parked).exit_code == exit_code
    assert len(server.asked) == most
    assert "left out" not in caplog.text


def test_if_the_others_go_down_after_it_the_run_parks(job: LedgerJob) -> None:
    server = ModelServer(["detailed"] * 45 + ["503"] * 999, {"psc": "503"})
    pool = buy(server, job, in_all_systems(99))
    assert [*pool.down] == ["psc"]
    assert some(pool.parked).exit_code == 6
    assert len(server.asked) == 45 + 2 * FAILURES_IN_A_ROW


def test_a_few_failures_of_the_others_beside_it_do_not_park(job: LedgerJob) -> None:
    server = ModelServer((["detailed"] * 12 + ["503"] * 3) * 99, {"psc": "503"})
    pool = buy(server, job, in_all_systems(ROWS))
    assert pool.parked is None
    assert [*pool.down] == ["psc"]
    assert sum(call.system != "psc" for call in server.told) == 3 * ROWS


def test_an_address_that_nobody_reaches_does_not_count_for_a_single_system(job: LedgerJob) -> None:
    server = ModelServer(["detailed"] * 3 + ["not sent"] * 999)
    last = [order for order in in_all_systems(ROWS) if order.call.system == "psc"]
    pool = buy(server, job, last, systems=SYSTEMS)
    assert some(pool.parked).exit_code == 6
    assert pool.down == {}


def test_calls_that_wait_for_it_end_when_it_is_left_out(job: LedgerJob) -> None:
    server = ModelServer([], {"psc": "503 for 3000"})
    buy(server, job, in_all_systems(ROWS), workers=FAILURES_IN_A_ROW + 1, longest_pause=3600.0)
    assert server.ended_after < 3000


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [(503, "", "HTTP_503"), (403, REFUSED, "UNAUTHORIZED"), (404, "", "HTTP_404")],
)
def test_its_rows_fail_and_the_next_run_buys_them(
    line: CommandLine,
    service: Service,
    caplog: pytest.LogCaptureFixture,
    status: int,
    body: str,
    error: str,
) -> None:
    service.down = {"psc": (status, {}, body)}
    line.write(*(f"text {row}" for row in range(ROWS)))
    assert line("run", "--systems", "cpv,psc,naics", "--json") == 3
    systems = line.summary["systems"]
    assert systems["psc"][error] == ROWS
    assert systems["cpv"]["failed"] == systems["naics"]["failed"] == 0
    assert "psc is left out of this run." in caplog.text
    assert len(service.asked) == 2 * ROWS
    assert line("run", "--systems", "cpv,psc,naics", "--json") == 3  # it buys nothing else
    assert len(service.asked) == 2 * ROWS
    service.down.clear()
    assert line("run", "--systems", "cpv,psc,naics", "--json") == 0
    assert len(service.asked) == 3 * ROWS


def test_a_new_run_does_not_first_try_all_that_is_left_of_it(
    line: CommandLine, service: Service
) -> None:
    service.down = {"psc": (503, {}, "")}
    texts = [f"text {row}" for row in range(ROWS)]
    line.write(*texts)
    assert line("run", "--systems", "cpv,psc") == 3
    service.reached.clear()
    line.write(*texts, "one more text")
    assert line("run", "--systems", "cpv,psc") == 3
    assert service.reached == ["psc"] * TRIES + ["cpv"] + ["psc"] * (FAILURES_IN_A_ROW - TRIES)
