"""An OpenTelemetry collector on loopback, which keeps what it gets."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, NamedTuple

from pipeline.cli.output.metrics import METRICS


class Span(NamedTuple):
    name: str
    seconds: float
    ok: bool
    attributes: dict[str, Any]
    span_id: bytes
    parent: bytes
    trace_id: bytes


class Collector(HTTPServer):
    """Keeps the bodies of the requests by their path, and answers with `status`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.received: dict[str, bytes] = {}
        self.status = 200
        self.answers = threading.Event()
        self.answers.set()

    @property
    def spans(self) -> list[Span]:
        from opentelemetry.proto.collector.trace.v1 import trace_service_pb2

        sent = trace_service_pb2.ExportTraceServiceRequest.FromString(self.received["/v1/traces"])
        found = sent.resource_spans[0].scope_spans[0].spans
        return [
            Span(
                span.name,
                (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9,
                span.status.code == 1,
                values(span.attributes),
                span.span_id,
                span.parent_span_id,
                span.trace_id,
            )
            for span in found
        ]

    @property
    def metrics(self) -> dict[str, float]:
        found = self._metrics.scope_metrics[0].metrics
        assert {each.name: each.description for each in found}.items() <= {
            (f"tender_pipeline_{name}", meaning) for name, meaning in METRICS.items()
        }
        return {
            ",".join([each.name.removeprefix("tender_pipeline_"), *labels]): point.as_double
            for each in found
            for point in each.gauge.data_points
            for labels in [sorted(values(point.attributes).values())]
        }

    @property
    def resource(self) -> dict[str, Any]:
        return values(self._metrics.resource.attributes)

    @property
    def _metrics(self) -> Any:
        from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2

        body = self.received["/v1/metrics"]
        return metrics_service_pb2.ExportMetricsServiceRequest.FromString(body).resource_metrics[0]


class Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received[self.path] = body
        self.server.answers.wait()
        self.send_response(self.server.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def values(attributes: Any) -> dict[str, Any]:
    found = {}
    for each in attributes:
        kind = each.value.WhichOneof("value")
        value = getattr(each.value, kind)
        found[each.key] = (
            [one.string_value for one in value.values] if kind == "array_value" else value
        )
    return found
