"""Reads a script of faults, and decides, repeatably, which requests they strike."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pipeline.answers import System
from pipeline.errors import SettingsError
from pipeline.files.regular import read_toml
from pipeline.service.chaos.kinds import KINDS, Fault, Latency

__all__ = ["Dice", "Script", "Throw", "announced", "read_script"]

HINT = 'The format is in "Rehearse faults": docs/how-to/rehearse-faults.md.'

_NO_KIND = (
    f"its kind must be one of {', '.join(kind.model_fields['kind'].default for kind in KINDS)}"
)
MESSAGES = {
    "extra_forbidden": "there is no such setting",
    "missing": "it is missing",
    "model_attributes_type": "it must be a table: [[fault]]",
    "tuple_type": "it must be a list",
    "union_tag_invalid": _NO_KIND,
    "union_tag_not_found": _NO_KIND,
}
"""Messages for some of pydantic's errors; its own do for the others."""


class Script(BaseModel):
    """The faults of a rehearsal.

    Attributes:
        fault: the faults; the first that strikes a request counts, besides any latency.
        seed: the same seed strikes the same requests; drawn at random if not given.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    fault: tuple[Annotated[Fault, Field(discriminator="kind")], ...] = ()
    seed: int = Field(default_factory=lambda: secrets.randbelow(1_000_000))


def read_script(path: Path) -> Script:
    """Read a script from a TOML file.

    Raises:
        SettingsError: the file cannot be read, or is wrong.
    """
    try:
        content = read_toml(path)
    except OSError as error:
        raise SettingsError(
            f"The faults file {path} cannot be read: {error.strerror or error}.",
            "Give --faults a TOML file.",
        ) from error
    except ValueError as error:  # of TOML and of UTF-8
        raise SettingsError(f"The faults file {path} is not TOML: {error}.", HINT) from error
    try:
        return Script.model_validate(content)
    except ValidationError as error:
        raise SettingsError(f"{path}: {_first(error)}.", HINT) from error


def _first(error: ValidationError) -> str:
    """Describe the first error, and in which fault it is."""
    first = error.errors(include_url=False)[0]
    message = MESSAGES.get(first["type"], first["msg"].removeprefix("Value error, "))
    match first["loc"]:
        case ("fault", int(place), str(kind), *setting):
            where = [f"fault {place + 1} ({kind})", *setting]
        case ("fault", int(place)):
            where = [f"fault {place + 1}"]
        case setting:
            where = list(setting)
    return ", ".join(map(str, where)) + f": {message}"


def announced(script: Script) -> str:
    """List the faults of a script, for people."""
    faults = [f"  {fault}" for fault in script.fault] or ["  none"]
    return "\n".join([f"Faults, seed {script.seed}:", *faults])


@dataclass(frozen=True, slots=True)
class Throw:
    """What strikes one request: a delay in seconds, then a fault, which leaves some to chance."""

    delay: float
    fault: Fault | None
    chance: Random


class Dice:
    """Decides for each request, in order, which faults of a script strike it."""

    def __init__(self, script: Script) -> None:
        self._seed = script.seed
        self._thrown = 0
        self._dice = [
            _Die(fault, f"{script.seed}/{place}") for place, fault in enumerate(script.fault)
        ]

    def throw(self, system: System, elapsed: float) -> Throw:
        """Decide on the next request, to a system, some seconds after the service started."""
        self._thrown += 1
        chance = Random(f"{self._seed}//{self._thrown}")  # noqa: S311 - to be repeatable
        delay, struck = 0.0, None
        for die in self._dice:
            match die.fault:
                case Latency(seconds=seconds, jitter=jitter) if die.falls(system, elapsed):
                    delay += seconds + chance.uniform(0, jitter)
                case Latency():
                    pass
                case fault if die.falls(system, elapsed, free=struck is None):
                    struck = fault
        return Throw(delay, struck, chance)


class _Die:
    """Decides for one fault, by the number of the request, so that a seed repeats it."""

    def __init__(self, fault: Fault, seed: str) -> None:
        self.fault = fault
        self._seed = seed
        self._seen = self._strikes = self._of_burst = 0

    def falls(self, system: System, elapsed: float, free: bool = True) -> bool:
        """Return whether the next request is struck; it is not free if another fault strikes it."""
        when = self.fault
        if system not in when.systems:
            return False
        self._seen += 1
        if not free or not when.after <= elapsed < when.until:
            return False
        if self._of_burst:
            self._of_burst -= 1
            return True
        if self._strikes == when.most or not self._chosen():
            return False
        self._strikes += 1
        self._of_burst = when.burst - 1
        return True

    def _chosen(self) -> bool:
        if self.fault.requests is not None:
            return self._seen in self.fault.requests
        chance = Random(f"{self._seed}/{self._seen}")  # noqa: S311 - to be repeatable
        return chance.random() < self.fault.probability
