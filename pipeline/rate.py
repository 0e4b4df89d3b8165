"""Says how often an interface may be asked: so many attempts in any window of so many seconds."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pipeline.errors import SettingsError

__all__ = ["AUTHENTICATED", "DEMO", "Rate", "parse_rate"]

CLOCK_DRIFT = 0.001
"""How much faster than the server's a client's clock may run, as a fraction of the time.

The kernel slews a clock by no more than 500 parts in a million (adjtimex(2)), and there are two.
"""

UNITS = {"day": 86400, "hour": 3600, "min": 60, "s": 1}
SPELLINGS = {
    **dict.fromkeys(("s", "sec", "second", "seconds"), "s"),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), "min"),
    **dict.fromkeys(("h", "hour", "hours"), "hour"),
    **dict.fromkeys(("d", "day", "days"), "day"),
}
FORM = re.compile(r"(\d{1,9})\s*/\s*(\d{1,9}(?:\.\d{1,6})?)?\s*([a-z]+)", re.ASCII)
SHORTEST, LONGEST = 0.001, 366.0 * 86400
HINT = "Give --rate attempts per window, such as 100/min, 10/hour or 60/6s, or none."


@dataclass(frozen=True, slots=True)
class Rate:
    """A limit on attempts; ``str()`` gives the form that ``parse_rate`` reads.

    Attributes:
        slots: the most attempts in any one window.
        window: its length, seconds.
    """

    slots: int
    window: float

    def __post_init__(self) -> None:
        if self.slots < 1:
            raise SettingsError(f"A rate of {self.slots} lets nothing through.", HINT)
        if not SHORTEST <= self.window <= LONGEST:
            raise SettingsError(
                f"A rate's window cannot be {self.window:g} seconds long.",
                "Give --rate a window from 0.001s to 366days, such as 100/min.",
            )

    def __str__(self) -> str:
        unit = next(
            (unit for unit, length in UNITS.items() if self.window % length == 0),
            "s",
        )
        number = f"{self.window / UNITS[unit]!r}".removesuffix(".0")
        return f"{self.slots}/{'' if number == '1' else number}{unit}"

    @property
    def hold(self) -> float:
        """How long this clock must run until a window is over on the server's, seconds."""
        return self.window * (1 + CLOCK_DRIFT)

    def answered_until(self, at: float) -> float:
        """Until when an attempt holds its slot whose response arrived at a time."""
        return at + self.hold

    def lost_until(self, at: float, late_arrival: float | None = None) -> float:
        """Until when an attempt holds its slot that was given up at a time without a response.

        Args:
            at: when it timed out; for one left open by a crash, when the next process started.
            late_arrival: how long after that it may still reach the server, seconds; None: one
                window.
        """
        return at + (self.window if late_arrival is None else late_arrival) + self.hold


AUTHENTICATED = Rate(100, 60.0)
"""The interface's limit for requests with a key."""

DEMO = Rate(10, 3600.0)
"""The interface's limit for requests without one."""


def parse_rate(text: str) -> Rate | None:
    """Turn ``250/min``, ``10/hour`` or ``60/6s`` into a rate and ``none`` into no limit.

    Raises:
        SettingsError: it is written otherwise, or nothing could ever be sent.
    """
    plain = text.strip().lower()
    if plain == "none":
        return None
    form = FORM.fullmatch(plain)
    unit = SPELLINGS.get(form[3]) if form else None
    if form is None or unit is None:
        raise SettingsError(f"The rate {text!r} cannot be understood.", HINT)
    return Rate(int(form[1]), float(form[2] or 1) * UNITS[unit])
