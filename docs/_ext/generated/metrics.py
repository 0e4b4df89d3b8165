"""The metrics of a run, taken from the code."""

from __future__ import annotations

from generated.markdown import code, table
from pipeline.cli.output.metrics import METRICS

__all__ = ["metrics"]

LABELS = {"info": "`version`", "row_statuses": "`system`, `status`"}


def metrics() -> str:
    """List the metrics with their labels and meanings."""
    rows = [
        [code(f"tender_pipeline_{name}"), LABELS.get(name, ""), meaning]
        for name, meaning in METRICS.items()
    ]
    return table(["metric", "further labels", "meaning"], rows)
