"""A share of rows with its confidence interval."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

__all__ = ["Share", "Z"]

Z = 1.959963984540054
"""Standard deviations within which 95 % of a normal distribution lie."""


@dataclass(frozen=True, slots=True)
class Share:
    """The share of some rows that have a property.

    Attributes:
        hits: the rows that have it.
        rows: all rows.
    """

    hits: int
    rows: int

    @property
    def value(self) -> float:
        """The share; 0 of no rows."""
        return self.hits / self.rows if self.rows else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's score interval at 95 % (E. B. Wilson, 1927); 0 to 1 for no rows."""
        if not self.rows:
            return 0.0, 1.0
        weight = Z * Z / self.rows
        middle = (self.value + weight / 2) / (1 + weight)
        spread = self.value * (1 - self.value) / self.rows + weight / (4 * self.rows)
        half = Z * sqrt(spread) / (1 + weight)
        low = 0.0 if not self.hits else max(0.0, middle - half)
        high = 1.0 if self.hits == self.rows else min(1.0, middle + half)
        return low, high
