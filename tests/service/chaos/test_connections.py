"""Faults of the connection: it is reset, cut, stalled, slow or closed."""

from __future__ import annotations

import http.client
import logging
from pathlib import Path

import pytest

from pipeline.service.chaos.faults import Fault
from tests.service.chaos.nights import match, night
from tests.service.sockets import BODY, CALL


@pytest.mark.parametrize("kind", ["drop-before", "drop-after"])
def test_a_drop_resets_the_connection_and_bills_only_after_the_work(
    tmp_path: Path, kind: str
) -> None:
    with night(tmp_path, Fault(kind)) as server:
        with server.connection() as connection, pytest.raises(ConnectionResetError):
            server.ask(connection)
        (served,) = server.record()
        assert (served.fault, served.status, served.stated_usd) == (kind, None, None)
        assert (served.worked_at is None) == (kind == "drop-before")
        assert server.billed() == ([] if kind == "drop-before" else [served.billed_usd])


def test_a_client_that_leaves_before_a_drop_causes_no_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    faults = (
        Fault("latency", seconds=0.3),
        Fault("drop-before", requests=(1,)),
        Fault("cut", requests=(2,)),
    )
    with night(tmp_path, *faults) as server:
        for number in range(1, 3):
            server.leave()
            server.wait_for(lambda request: True, requests=number)  # in this order
        server.wait_for(lambda request: request.answered_at is not None, requests=2)
    assert [record.message for record in caplog.records if record.levelno >= logging.ERROR] == []


def test_a_cut_answer_is_billed_and_ends_in_the_middle(tmp_path: Path) -> None:
    with night(tmp_path, Fault("cut")) as server, server.connection() as connection:
        response = server.ask(connection)
        with pytest.raises(http.client.IncompleteRead) as broken:
            response.read()
        assert 0 < len(broken.value.partial) < int(response.headers["Content-Length"])
        (served,) = server.record()
        assert (served.fault, served.stated_usd) == ("cut", None)
        assert server.billed() == [served.billed_usd]


def test_a_stalled_request_is_handled_although_nobody_waits_for_it(tmp_path: Path) -> None:
    with night(tmp_path, Fault("stall", seconds=0.4)) as server:
        server.leave()
        served = server.wait_for(lambda request: request.answered_at is not None)
        assert served.worked_at is not None
        # The clock of the event loop is up to some milliseconds behind the one of the record.
        assert served.worked_at - served.arrived_at > 0.3
        assert (served.fault, served.billed_usd) == ("stall", *server.billed())


@pytest.mark.parametrize("kind", ["stall", "drip"])
def test_a_patient_client_gets_a_whole_answer(tmp_path: Path, kind: str) -> None:
    with night(tmp_path, Fault(kind, seconds=0.1)) as server, server.client() as client:
        assert match(client).json()["success"] is True
        (served,) = server.record()
        assert (served.fault, served.stated_usd) == (kind, *server.billed())


def test_a_dripping_answer_begins_and_goes_on_beyond_a_timeout(tmp_path: Path) -> None:
    with night(tmp_path, Fault("drip", seconds=3)) as server, server.connection() as connection:
        response = server.ask(connection)
        assert response.status == 200
        assert response.read1(1) == b"{"
        connection.close()
        assert len(server.billed()) == 1


def test_a_duplicate_is_what_a_kept_connection_gives_to_the_next_request(tmp_path: Path) -> None:
    with night(tmp_path, Fault("duplicate")) as server, server.connection() as connection:
        connection.connect()
        request = CALL + f"X-API-Key: {server.key}\r\n\r\n".encode() + BODY
        connection.sock.sendall(request)
        received = b""
        while received.count(b'"success"') < 2:
            received += (more := connection.sock.recv(65_536))
            assert more, received
        (served,) = server.record()
        assert (served.fault, served.stated_usd) == ("duplicate", *server.billed())


def test_a_kept_connection_is_closed_behind_a_whole_answer(tmp_path: Path) -> None:
    with night(tmp_path, Fault("idle-close")) as server, server.connection() as connection:
        response = server.ask(connection)
        assert response.headers["Connection"] is None
        assert response.read()
        served = server.wait_for(lambda request: request.closed_at is not None)
        assert (served.fault, served.stated_usd) == ("idle-close", *server.billed())
        with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
            server.ask(connection)
        assert len(server.billed()) == 1


def test_a_connection_in_use_again_is_not_closed(tmp_path: Path) -> None:
    """The next request is there before the answer, and stalls beyond the time to close."""
    faults = (
        Fault("idle-close", seconds=0.1, requests=(1,)),
        Fault("stall", seconds=0.3, requests=(2,)),
    )
    with night(tmp_path, *faults) as server, server.connection() as connection:
        connection.connect()
        request = CALL + f"X-API-Key: {server.key}\r\n\r\n".encode() + BODY
        connection.sock.sendall(3 * request)
        received = b""
        while received.count(b"HTTP/1.1 200 ") < 3:
            received += (more := connection.sock.recv(65_536))
            assert more, received
        assert [one.closed_at for one in server.record()] == [None, None, None]
