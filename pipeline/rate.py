"""Rate limits and durations, written with the same units: ``100/min``, ``60/6s``, ``5m``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from pipeline.errors import SettingsError
from pipeline.wording import option

Duration: TypeAlias = str | timedelta
"""A duration such as ``5m``, ``90min`` or ``6h``."""

CLOCK_DRIFT = 0.001
"""How much faster than the server's a client's clock may run, as a fraction of the time.

The kernel slews a clock by at most 500 parts in a million (adjtimex(2)), and there are two clocks.
"""

UNITS = {"day": 86400, "hour": 3600, "min": 60, "s": 1}
SPELLINGS = {
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60),
    **dict.fromkeys(("h", "hour", "hours"), 3600),
    **dict.fromkeys(("d", "day", "days"), 86400),
}
NUMBER = r"(\d{1,9}(?:\.\d{1,6})?)"
UNIT = f"({'|'.join(SPELLINGS)})"
DURATION = re.compile(rf"{NUMBER}\s*{UNIT}", re.ASCII)
RATE = re.compile(rf"(\d{{1,9}})\s*/\s*{NUMBER}?\s*{UNIT}", re.ASCII)
SHORTEST, LONGEST = 0.001, 366.0 * 86400
HINT = f"Give {option('rate')} attempts per window, such as 100/min, 10/hour or 60/6s, or none."


@dataclass(frozen=True, slots=True)
class Rate:
    """A limit on attempts; ``str()`` returns the form that `parse_rate` reads.

    Attributes:
        slots: the most attempts in any one window.
        window: its length, seconds.
    """

    slots: int
    window: float

    def __post_init__(self) -> None:
        if self.slots < 1:
            raise SettingsError(f"A rate of {self.slots} would allow no attempt at all.", HINT)
        if not SHORTEST <= self.window <= LONGEST:
            raise SettingsError(
                f"A rate's window cannot be {self.window:g} seconds long.",
                f"Give {option('rate')} a window from 0.001s to 366days, such as 100/min.",
            )

    def __str__(self) -> str:
        unit = next((unit for unit, length in UNITS.items() if self.window % length == 0), "s")
        number = f"{self.window / UNITS[unit]!r}".removesuffix(".0")
        return f"{self.slots}/{'' if number == '1' else number}{unit}"

    @property
    def hold(self) -> float:
        """Seconds on this clock after which a window is surely over on the server's."""
        return self.window * (1 + CLOCK_DRIFT)

    def answered_until(self, at: float) -> float:
        """Return until when an attempt holds its slot if its response arrived at ``at``."""
        return at + self.hold

    def lost_until(self, at: float) -> float:
        """Return until when an attempt without a response holds its slot.

        It may still reach the server up to a window after it timed out at ``at`` or, if a crash
        left it open, after the next process started then.
        """
        return at + self.window + self.hold


AUTHENTICATED = Rate(100, 60.0)
"""The interface's limit for requests with a key."""

DEMO = Rate(10, 3600.0)
"""The interface's limit for requests without a key."""


def parse_rate(text: str) -> Rate | None:
    """Parse a rate such as ``250/min``, ``10/hour`` or ``60/6s``; ``none`` is None: no limit.

    Raises:
        SettingsError: it is not a rate, or would never allow an attempt.
    """
    plain = text.strip().lower()
    if plain == "none":
        return None
    form = RATE.fullmatch(plain)
    if form is None:
        raise SettingsError(f"The rate {text!r} cannot be understood.", HINT)
    return Rate(int(form[1]), float(form[2] or 1) * SPELLINGS[form[3]])


def seconds(name: str, value: Duration) -> float:
    """Return a duration in seconds.

    Raises:
        SettingsError: it is not a duration, or is negative.
    """
    if isinstance(value, timedelta) and value >= timedelta(0):
        return value.total_seconds()
    form = DURATION.fullmatch(str(value).strip().lower())
    if form is None:
        raise SettingsError(
            f"{option(name)} is {value!r}.",
            f"{option(name)} must be a duration, such as 60s, 5m, 6h or 30d.",
        )
    return float(form[1]) * SPELLINGS[form[2]]


def duration(seconds: float) -> str:
    """Format a duration for people: ``24 h``, ``90 min``."""
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.0f} {unit}"
    return f"{seconds:.0f} s"
