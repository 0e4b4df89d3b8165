"""Which texts a review shows, and in what order: read from the address, and turned into SQL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias, get_args
from urllib.parse import urlencode

from pipeline.answers import SYSTEMS, System

__all__ = ["LOOK", "ORDERS", "Filters", "Order"]

Order: TypeAlias = Literal["rows", "unsure", "sure", "table"]

ORDERS: dict[Order, str] = {
    "rows": "Texts in most rows first",
    "unsure": "Least sure first",
    "sure": "Surest first",
    "table": "As in the table",
}

SORTED: dict[Order, str] = {
    "rows": "rows DESC, first_row, id",
    "unsure": "confidence IS NULL, confidence, first_row, id",
    "sure": "confidence IS NULL, confidence DESC, first_row, id",
    "table": "first_row, id",
}

LOOK, ALL = "look", "all"
"""The statuses that need a look, and every status."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Which texts to show.

    Attributes:
        system: the system; None for all.
        status: a status, `LOOK` or ``all``.
        above: the least confidence, in tenths; 0 for any.
        below: the highest confidence, in tenths; 10 for any.
        division: the first level of the best match's code; "" for all.
        order: their order.
    """

    system: System | None = None
    status: str = LOOK
    above: int = 0
    below: int = 10
    division: str = ""
    order: Order = "rows"

    @classmethod
    def of(cls, values: Mapping[str, str]) -> Filters:
        """Return the filters in an address; what is not valid there does not filter."""
        order: Any = values.get("order", "")
        return cls(
            system=next((each for each in SYSTEMS if each == values.get("system")), None),
            status=values.get("status", "")[:40] or LOOK,
            above=_tenths(values.get("above", ""), 0),
            below=_tenths(values.get("below", ""), 10),
            division=values.get("division", "")[:10],
            order=order if order in get_args(Order) else "rows",
        )

    @property
    def query(self) -> str:
        """The filters as the query of an address, without those that do not filter."""
        usual = asdict(Filters())
        return urlencode({name: v for name, v in asdict(self).items() if v != usual[name]})

    def where(self) -> tuple[str, list[Any]]:
        """Return the condition in SQL, and its values."""
        tests: list[tuple[str, Any]] = []
        if self.system:
            tests.append(("system = ?", self.system))
        if self.status == LOOK:
            tests.append(("look = ?", 1))
        elif self.status != ALL:
            tests.append(("status = ?", self.status))
        if self.above > 0:
            tests.append(("confidence >= ?", self.above / 10))
        if self.below < 10:
            tests.append(("confidence < ?", self.below / 10))
        if self.division:
            tests.append(("division = ?", self.division))
        return " AND ".join(["1", *(test for test, _ in tests)]), [value for _, value in tests]

    @property
    def sort(self) -> str:
        """The order in SQL: texts that were put off come last."""
        return f"put_off, {SORTED[self.order]}"


def _tenths(written: str, default: int) -> int:
    number = int(written) if written.isascii() and written.isdecimal() and len(written) < 3 else -1
    return number if 0 <= number <= 10 else default
