"""Reads the metrics of a run as Prometheus does."""

from __future__ import annotations

import re

from pipeline.cli.output.metrics import METRICS

LINE = re.compile(r'(tender_pipeline_\w+)\{(\w+="(?:[^"\\\n]|\\[\\n"])*"(?:,\w+="[^"]*")*)\} (\S+)')


def samples(text: str) -> dict[str, float]:
    """Parse a file as strictly as Prometheus: each metric has its help, its type, its samples."""
    found: dict[str, float] = {}
    described: list[str] = []
    for line in text.splitlines():
        match line.split(" ", 3):
            case ["#", "HELP", name, meaning]:
                assert METRICS[name.removeprefix("tender_pipeline_")] == meaning
                assert name not in described
                described.append(name)
            case ["#", "TYPE", name, kind]:
                assert (name, kind) == (described[-1], "gauge")
            case ["#", *_]:
                assert not found
            case _:
                sample = LINE.fullmatch(line)
                assert sample is not None, line
                assert sample[1] == described[-1]
                labels = sample[2].removeprefix('name="nightly"').removeprefix(",")
                found[sample[1].removeprefix("tender_pipeline_") + labels] = float(sample[3])
    assert text.endswith("\n")
    return found
