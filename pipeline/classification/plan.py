"""What a job will do and take, said before it does anything."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from pipeline.classification.scan import Plan
from pipeline.paid import Estimate

__all__ = ["Forecast"]


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a job will do and take.

    Attributes:
        table: the rows, and those without text.
        purchase: the calls to buy, what they cost and how long they take.
    """

    table: Plan
    purchase: Estimate

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON types; money as text."""
        return {**asdict(self.table), **self.purchase.to_dict()}

    def __str__(self) -> str:
        return f"{self.table}\n{self.purchase}"
