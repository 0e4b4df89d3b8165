"""Exports the figures of a run with OpenTelemetry: a span for each job, and the metrics.

OpenTelemetry's environment variables say where they go. Everything is sent once, after the work, so
a run has no thread and no connection for it.
"""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from logging.handlers import BufferingHandler
from threading import Thread
from urllib.parse import urlsplit

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, MetricExportResult
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Span, StatusCode, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from pipeline.cli.output.metrics import METRICS, MeasuredJob, MeasuredRun, figures, succeeded
from pipeline.errors import SettingsError
from pipeline.versions import VERSIONS

__all__ = ["Telemetry"]

NAME, VERSION = "tender-pipeline", VERSIONS["tender-pipeline"]

TRY = 3
"""Seconds within which a collector must answer, including the exporter's retries."""

LONGEST = 5
"""The longest that a run waits, in seconds, even if a host name does not resolve."""

DEFAULT_ADDRESS = "http://localhost:4318"

PROTOCOL = "http/protobuf"

STATUS = re.compile(r"code: (\d{3})")
"""The HTTP status in what the exporter logs."""

log = logging.getLogger("pipeline")


@dataclass(frozen=True, slots=True)
class Telemetry:
    """The collector of traces and that of metrics.

    Attributes:
        hosts: the host of each signal's collector; a signal that is turned off is missing.
    """

    hosts: dict[str, str]

    @classmethod
    def from_environment(cls) -> Telemetry:
        """Read and check OpenTelemetry's environment variables.

        Raises:
            SettingsError: an address or a protocol cannot be used.
        """
        if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
            return cls({})
        signals = ("TRACES", "METRICS")
        wanted = (name for name in signals if os.environ.get(f"OTEL_{name}_EXPORTER") != "none")
        return cls({signal: _host(signal) for signal in wanted})

    def __str__(self) -> str:
        hosts = " and ".join(dict.fromkeys(self.hosts.values()))
        return f"the OpenTelemetry collector {hosts}" if hosts else "no collector (OTEL_*)"

    def write(self, run: MeasuredRun) -> None:
        """Send the figures of a run, or warn that they cannot be sent."""
        sending = {"TRACES": _send_spans, "METRICS": _send_metrics}
        collected = _collected_log()
        attempts = [_Attempt(sending[signal], run) for signal in self.hosts]
        deadline = time.monotonic() + LONGEST
        for attempt in attempts:
            attempt.join(max(0.0, deadline - time.monotonic()))
        lost = [host for host, a in zip(self.hosts.values(), attempts, strict=True) if not a.sent]
        if lost:
            status = STATUS.search("\n".join(record.getMessage() for record in collected.buffer))
            log.warning(
                "The figures of the run were not exported to %s: %s. The output is not affected. "
                "Check OTEL_EXPORTER_OTLP_ENDPOINT.",
                " and ".join(dict.fromkeys(lost)),
                f"it answered with HTTP status {status[1]}" if status else "it did not answer",
            )


class _Attempt(Thread):
    """Sends one signal; the process does not wait for its end."""

    def __init__(self, send: Callable[[MeasuredRun], bool], run: MeasuredRun) -> None:
        super().__init__(daemon=True)
        self._send, self._run = send, run
        self.sent = False
        self.start()

    def run(self) -> None:
        try:
            self.sent = self._send(self._run)
        except Exception as error:  # whatever it is, the run is done
            logging.getLogger("opentelemetry").error("%r", error)


def _collected_log() -> BufferingHandler:
    """Collect what the exporters log, and keep it from standard error: it may quote addresses."""
    library, collected = logging.getLogger("opentelemetry"), BufferingHandler(1000)
    library.handlers, library.propagate = [collected], False
    return collected


def _host(signal: str) -> str:
    """Return the host of a signal's collector, without a user or a path, which may be secret."""
    variable, address = _setting(signal, "ENDPOINT", DEFAULT_ADDRESS)
    try:
        url = urlsplit(address)
        usable = url.scheme in ("http", "https") and url.hostname and url.port != 0
    except ValueError:  # a port or an IPv6 address
        usable = False
    if not usable:
        raise SettingsError(
            f"{variable} is not an http:// or https:// address.",
            f"Set it to the address of the collector, such as {DEFAULT_ADDRESS}.",
        )
    variable, protocol = _setting(signal, "PROTOCOL", PROTOCOL)
    if protocol != PROTOCOL:
        raise SettingsError(
            f"{variable} is {protocol!r}, but --opentelemetry sends {PROTOCOL} only.",
            f"Set it to {PROTOCOL}, with the collector's port for it, usually 4318.",
        )
    return url.netloc.rpartition("@")[2]


def _setting(signal: str, name: str, default: str) -> tuple[str, str]:
    """Return the variable that sets something for a signal, and its value."""
    general = f"OTEL_EXPORTER_OTLP_{name}"
    own = f"OTEL_EXPORTER_OTLP_{signal}_{name}"
    variable = own if os.environ.get(own) else general
    return variable, os.environ.get(variable) or default


def _resource() -> Resource:
    """Return what sends the figures: OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES come first."""
    defaults = {"service.name": NAME, "service.version": VERSION}
    return Resource.create({**defaults, **OTELResourceDetector().detect().attributes})


def _send_metrics(run: MeasuredRun) -> bool:
    memory = InMemoryMetricReader()
    provider = MeterProvider([memory], resource=_resource(), shutdown_on_exit=False)
    meter = provider.get_meter(NAME, VERSION)
    gauges = {
        name: meter.create_gauge(f"tender_pipeline_{name}", description=meaning)
        for name, meaning in METRICS.items()
    }
    for metric, labels, value in run.samples():
        gauges[metric].set(float(value), labels)
    data = memory.get_metrics_data()
    exporter = OTLPMetricExporter(timeout=TRY)
    return data is not None and exporter.export(data) is MetricExportResult.SUCCESS


def _send_spans(run: MeasuredRun) -> bool:
    return OTLPSpanExporter(timeout=TRY).export(_spans(run)) is SpanExportResult.SUCCESS


def _spans(run: MeasuredRun) -> Sequence[ReadableSpan]:
    """Return the span of the run, and one below it for each job if there are several."""
    provider = TracerProvider(resource=_resource(), shutdown_on_exit=False)
    memory = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    tracer = provider.get_tracer(NAME, VERSION)
    carrier = {"traceparent": os.environ.get("TRACEPARENT", "")}
    above = TraceContextTextMapPropagator().extract(carrier)
    whole = tracer.start_span(f"{NAME} run", above, start_time=_nanoseconds(run.started))
    for job in run.jobs:
        below = set_span_in_context(whole)
        start = _nanoseconds(job.started)
        _end(tracer.start_span(f"{NAME} job", below, start_time=start), job)
    _end(whole, run)
    return memory.get_finished_spans()


def _end(span: Span, done: MeasuredRun | MeasuredJob) -> None:
    """Describe by numbers what was done: never by texts, addresses or messages."""
    span.set_attribute("tender_pipeline.input", done.name)
    span.set_attribute("tender_pipeline.exit_code", done.exit_code)
    if done.summary:
        span.set_attribute("tender_pipeline.systems", list(done.summary.systems))
        for metric, labels, value in figures(done.summary):
            name = ".".join(["tender_pipeline", metric, *labels.values()])
            span.set_attribute(name, int(value) if value.isdigit() else float(value))
    if succeeded(done.exit_code):
        span.set_status(StatusCode.OK)
    else:
        span.set_status(StatusCode.ERROR, f"exit code {done.exit_code}")
    span.end(_nanoseconds(done.ended))


def _nanoseconds(seconds: float) -> int:
    return round(seconds * 1e9)
