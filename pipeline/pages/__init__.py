"""What pages share: the environment of their templates, a style sheet, rows that can go through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

WANTED = (0.95, 0.9, 0.85, 0.8, 0.7, 0.5)
"""The accuracies that a table of rows that can go through has a line for."""

FEWEST = 10
"""Rows that an accuracy must have to be shown; the share right of one or two rows is noise."""


@dataclass(frozen=True, slots=True)
class Taken:
    """The most confident rows, down to some confidence.

    Attributes:
        rows: how many there are.
        share: the share of them whose code is right, from 0 to 1.
        confidence: the lowest confidence among them; None if a person decided them all.
    """

    rows: int
    share: float
    confidence: float | None


def most_taken(points: Sequence[Taken], share: float) -> Taken | None:
    """Return the largest part of the rows that reaches an accuracy; None if none does.

    The points go from few rows to many.
    """
    return next((point for point in reversed(points) if point.share >= share), None)


def environment(package: str) -> Environment:
    """Return an environment for a package's templates: values are escaped, a missing one raises.

    The templates may include those of this room, such as the style sheet of reports, ``page.css``.
    """
    return Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("pipeline.pages")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
