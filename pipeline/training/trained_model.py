"""What `pipeline.train` returns: the folder of a model and its figures on held-out rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import fspath
from pathlib import Path
from typing import Any

from pipeline.answers import System
from pipeline.training.text import model_summary

__all__ = ["TrainedModel", "TrainedSystem"]


@dataclass(frozen=True, slots=True)
class TrainedSystem:
    """What a model learned of one system, and how good it is on rows held out from a first model.

    Attributes:
        rows: how many rows the table has.
        learned_rows: how many of them the finished model learned.
        codes: how many codes it can answer with.
        held_out_rows: how many rows measured it.
        accuracy: the share of them whose right code is the first (1), among 5 and among 10.
        calibration_error: the mean difference between confidence and accuracy.
        ok_from: the lowest confidence from which two in three of the first codes are right.
        changed: the share of the rows whose first code differs from that of the package's model.
        better: the share of the rows that only the new model gets right.
        worse: the share of the rows that only the package's model gets right.
    """

    rows: int
    learned_rows: int
    codes: int
    held_out_rows: int
    accuracy: Mapping[int, float]
    calibration_error: float
    ok_from: float
    changed: float
    better: float
    worse: float

    @classmethod
    def of(cls, figures: Mapping[str, Any]) -> TrainedSystem:
        """Return the figures of one system, from those of `pipeline.training.figures`."""
        held_out = figures["held_back"]
        return cls(
            rows=figures["rows"],
            learned_rows=figures["learned_rows"],
            codes=figures["codes"],
            held_out_rows=held_out["rows"],
            accuracy={int(top): share for top, share in held_out["right"].items()},
            calibration_error=held_out["calibration_error"],
            ok_from=held_out["ok"]["confidence"],
            **held_out["flips"],
        )


@dataclass(frozen=True, slots=True, repr=False)
class TrainedModel:
    """A trained model in its folder; pass it as ``models`` to `classify`.

    ``str`` returns what the command line prints.

    Attributes:
        path: the folder of the model.
        systems: the figures of each system that it learned.
        skipped: a line for each reason why rows were skipped.
        figures: all figures, as ``tender-pipeline train --json`` prints them.
    """

    path: Path
    systems: Mapping[System, TrainedSystem]
    skipped: Sequence[str]
    figures: Mapping[str, Any]

    def __fspath__(self) -> str:
        return fspath(self.path)

    def __str__(self) -> str:
        return "\n".join([*self.skipped, model_summary(self.figures, self.path)])

    def __repr__(self) -> str:
        return str(self)
