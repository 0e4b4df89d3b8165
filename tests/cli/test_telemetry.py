"""The figures of a run, exported with OpenTelemetry to a collector on this machine."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.cli.otlp_collector import Collector
from tests.cli.prometheus import samples

LIBRARY = "opentelemetry.exporter.otlp.proto.http"

MODULE = "pipeline.cli.output.telemetry"


@pytest.fixture(scope="module")
def running() -> Iterator[Collector]:
    pytest.importorskip(LIBRARY, exc_type=ImportError)
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def collector(running: Collector, monkeypatch: pytest.MonkeyPatch) -> Collector:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{running.server_port}")
    running.received.clear()
    running.status = 200
    return running


@pytest.fixture
def run(command: Command) -> Command:
    pytest.importorskip(LIBRARY, exc_type=ImportError)
    Path("t.csv").write_text('description\nroad works of SECRETVILLE\n""\nschool meals\n')
    options = ("--output", "o.csv", "--systems", "psc", "--opentelemetry")
    return lambda *more: command("run", "t.csv", *options, *more)


def test_the_collector_gets_a_span_and_the_figures_of_the_metrics_file(
    run: Command, collector: Collector
) -> None:
    assert run("--metrics-file", "t.prom") == 0
    in_file = samples(Path("t.prom").read_text().replace('name="t"', 'name="nightly"'))
    assert len(collector.metrics) == len(in_file)
    assert sorted(collector.metrics.values()) == sorted(in_file.values())
    assert collector.metrics["rows"] == 3
    assert collector.metrics["row_statuses,empty,psc"] == 1
    [span] = collector.spans
    assert (span.name, span.ok, span.parent) == ("tender-pipeline run", True, b"")
    assert 0 <= span.seconds <= 60
    assert span.attributes["tender_pipeline.input"] == "t.csv"
    assert span.attributes["tender_pipeline.systems"] == ["psc"]
    assert span.attributes["tender_pipeline.rows"] == 3
    assert span.attributes["tender_pipeline.row_statuses.psc.empty"] == 1
    assert span.attributes["tender_pipeline.exit_code"] == 0


def test_nothing_that_is_exported_has_texts_or_folders(
    run: Command, collector: Collector, tmp_path: Path
) -> None:
    assert run() == 0
    everything = b"".join(collector.received.values())
    assert b"t.csv" in everything
    assert b"SECRETVILLE" not in everything
    assert str(tmp_path).encode() not in everything


def test_nothing_is_exported_unless_asked_for(command: Command, collector: Collector) -> None:
    Path("t.csv").write_text("description\nroad works\n")
    arguments = ("run", "t.csv", "--output", "o.csv", "--systems", "psc")
    assert command(*arguments) == 0
    assert not collector.received
    Path("s.toml").write_text("opentelemetry = true\n")
    assert command(*arguments, "--config", "s.toml") == 0
    assert sorted(collector.received) == ["/v1/metrics", "/v1/traces"]


def test_the_environment_names_what_sends_the_figures(
    run: Command, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run() == 0
    assert collector.resource["service.name"] == "tender-pipeline"
    monkeypatch.setenv("OTEL_SERVICE_NAME", "nightly")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "team=data")
    assert run() == 0
    assert collector.resource["service.name"] == "nightly"
    assert collector.resource["team"] == "data"


def test_a_run_that_fails_is_exported_with_its_exit_code(
    run: Command, collector: Collector
) -> None:
    assert run("--top", "11") == 2
    [span] = collector.spans
    assert not span.ok
    assert span.attributes["tender_pipeline.exit_code"] == 2
    assert "tender_pipeline.rows" not in span.attributes
    assert collector.metrics["last_run_exit_code"] == 2
    assert "last_success_timestamp_seconds" not in collector.metrics


def test_each_of_several_files_has_a_span_below_that_of_the_run(
    command: Command, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    monkeypatch.setenv("TRACEPARENT", f"00-{trace}-{parent}-01")
    Path("a.csv").write_text("description\nroad works\n")
    Path("b.csv").write_text("other\nroad works\n")
    files = ("run", "a.csv", "b.csv", "--output", "coded", "--systems", "psc", "--opentelemetry")
    assert command(*files) == 2
    of_a, of_b, whole = collector.spans
    assert [span.name for span in (of_a, of_b, whole)] == [
        "tender-pipeline job",
        "tender-pipeline job",
        "tender-pipeline run",
    ]
    assert [span.ok for span in (of_a, of_b, whole)] == [True, False, False]
    assert of_a.attributes["tender_pipeline.input"] == "a.csv"
    assert of_b.attributes["tender_pipeline.exit_code"] == 2
    assert whole.attributes["tender_pipeline.input"] == "2 inputs"
    assert {of_a.parent, of_b.parent} == {whole.span_id}
    assert whole.parent.hex() == parent
    assert {span.trace_id.hex() for span in (of_a, of_b, whole)} == {trace}
    assert of_a.seconds <= whole.seconds


@pytest.mark.parametrize(
    ("variable", "value", "paths"),
    [
        ("OTEL_SDK_DISABLED", "true", []),
        ("OTEL_METRICS_EXPORTER", "none", ["/v1/traces"]),
        ("OTEL_TRACES_EXPORTER", "none", ["/v1/metrics"]),
    ],
)
def test_the_environment_turns_off_what_is_exported(
    run: Command,
    collector: Collector,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    value: str,
    paths: list[str],
) -> None:
    monkeypatch.setenv(variable, value)
    assert run() == 0
    assert sorted(collector.received) == paths


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("ENDPOINT", "me:SECRET@collector:4318", "OTLP_ENDPOINT is not an http:// or https://"),
        ("ENDPOINT", "http://collector:99999", "OTLP_ENDPOINT is not an http:// or https://"),
        ("TRACES_ENDPOINT", "grpc://c:4317", "TRACES_ENDPOINT is not an http:// or https://"),
        ("PROTOCOL", "grpc", "OTEL_EXPORTER_OTLP_PROTOCOL is 'grpc', but --opentelemetry sends"),
    ],
)
def test_a_setting_that_cannot_be_used_is_refused_before_the_work(
    run: Command,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    variable: str,
    value: str,
    said: str,
) -> None:
    monkeypatch.setenv(f"OTEL_EXPORTER_OTLP_{variable}", value)
    assert run() == 2
    error = capsys.readouterr().err
    assert said in error
    assert "SECRET" not in error
    assert not Path("o.csv").exists()


def test_without_the_extra_nothing_is_done(
    run: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.metrics", None)
    assert run() == 2
    error = capsys.readouterr().err
    assert "--opentelemetry needs the package opentelemetry.sdk.metrics" in error
    assert "pip install 'tender-pipeline[opentelemetry]'" in error
    assert not Path("o.csv").exists()


def test_a_collector_that_refuses_is_one_warning(
    run: Command, collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    collector.status = 404
    assert run() == 0
    [warning] = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert f"not exported to 127.0.0.1:{collector.server_port}: it answered with" in warning
    assert "HTTP status 404" in warning


def test_a_run_does_not_wait_for_a_collector_that_never_answers(
    run: Command,
    collector: Collector,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    place = f"127.0.0.1:{collector.server_port}"
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://me:SECRET@{place}/SECRET")
    monkeypatch.setattr(f"{MODULE}.LONGEST", 0.01)
    monkeypatch.setattr(f"{MODULE}.TRY", 60)
    collector.answers.clear()
    assert run() == 0
    # The collector starts threads of its own meanwhile; one that has not begun cannot be joined.
    waiting = [each for each in threading.enumerate() if type(each).__name__ == "_Attempt"]
    collector.answers.set()
    for thread in waiting:
        thread.join()
    assert waiting
    assert all(thread.daemon for thread in waiting)
    assert Path("o.csv").exists()
    [warning] = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert f"not exported to {place}: it did not answer" in warning
    assert "SECRET" not in caplog.text


def test_a_collector_that_is_down_is_one_warning(
    run: Command,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(f"{MODULE}.TRY", 0.1)
    with socket.socket() as nobody:  # bound, so that no other process gets the port
        nobody.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{nobody.getsockname()[1]}"
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://{place}")
        assert run() == 0
    [warning] = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert f"not exported to {place}: it did not answer" in warning
    assert "Traceback" not in capfd.readouterr().err
