"""Reads a script of faults, and decides, repeatably, which requests they strike."""

from __future__ import annotations

import re
import secrets
from math import inf
from pathlib import Path
from random import Random
from typing import Annotated, Any, Literal, TypeAlias, get_args

import msgspec
from msgspec import Meta, Struct

from pipeline.answers import SYSTEMS, System
from pipeline.errors import SettingsError, reason
from pipeline.files.regular import read_toml

Form: TypeAlias = Literal[
    "absurd-cost",
    "currency",
    "html",
    "huge",
    "nan",
    "negative-cost",
    "no-metadata",
    "truncated",
]

FORMS: tuple[Form, ...] = get_args(Form)

KINDS: dict[str, dict[str, Any]] = {
    "latency": {"seconds": 0.0, "jitter": 0.0},
    "drop-before": {},
    "drop-after": {},
    "cut": {},
    "stall": {"seconds": None},
    "drip": {"seconds": None},
    "refuse": {"retry-after": "seconds", "seconds": 1},
    "error": {"status": 500, "envelope": True},
    "gateway": {"status": 502},
    "garbage": {"form": "any"},
}
"""The settings that only some kinds of faults have, with their defaults; None must be given.

What each kind does is in docs/how-to/rehearse-faults.md.
"""

COMMON = ("probability", "requests", "systems", "after", "until", "burst")
"""The settings of every kind."""

HINT = 'The format is in "Rehearse faults": docs/how-to/rehearse-faults.md.'

Positive: TypeAlias = Annotated[int, Meta(ge=1)]
Seconds: TypeAlias = Annotated[float, Meta(ge=0, le=86400)]


class Fault(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, rename="kebab"):
    """A fault, which requests it strikes, and the settings of its kind.

    Attributes:
        kind: what happens to a request; see `KINDS`.
        probability: the probability that a request is struck.
        requests: the numbers of the requests to strike, instead of a probability; the first
            request of `systems` after the start is 1.
        systems: the systems whose requests can be struck.
        after: seconds after the start of the service when the fault begins.
        until: seconds after the start when the fault ends.
        burst: the number of requests of `systems` in a row that each strike hits.
        seconds: how long the fault takes, or asks the client to wait.
        jitter: the maximum random addition to it, in seconds.
        retry_after: the form of the Retry-After header.
        status: the HTTP status.
        envelope: whether the body is the service's error (INTERNAL_ERROR), or a proxy's page.
        form: what is wrong with a malformed answer; "any" picks one at random.
    """

    kind: str
    probability: Annotated[float, Meta(ge=0, le=1)] | None = None
    requests: tuple[Positive, ...] | None = None
    systems: tuple[System, ...] = SYSTEMS
    after: Seconds = 0.0
    until: Annotated[float, Meta(gt=0)] = inf
    burst: Positive = 1
    seconds: Seconds | None = None
    jitter: Seconds | None = None
    retry_after: Literal["seconds", "date", "none"] | None = None
    status: Annotated[int, Meta(ge=500, le=599)] | None = None
    envelope: bool | None = None
    form: Literal[Form, "any"] | None = None

    def __post_init__(self) -> None:
        """Check what the types cannot."""
        if self.kind not in KINDS:
            raise ValueError(f"Its kind must be one of {', '.join(KINDS)}")
        kind = KINDS[self.kind]
        for name in self.changed():
            if name not in (*COMMON, *kind):
                raise ValueError(f"The kind {self.kind} has no setting {name}")
        if "seconds" in kind and kind["seconds"] is None and not self.seconds:
            raise ValueError(f"The kind {self.kind} needs seconds, above 0")
        if None not in (self.probability, self.requests):
            raise ValueError("Give a probability or requests, not both")
        if self.until <= self.after:
            raise ValueError("until must be later than after")
        if (self.kind, self.status) == ("gateway", 503):
            raise ValueError("503 means that nothing was done, so nothing may be billed")

    def changed(self) -> dict[str, Any]:
        """Return the settings, besides the kind, that differ from their defaults."""
        settings: dict[str, Any] = msgspec.to_builtins(self)
        del settings["kind"]
        return settings

    def setting(self, name: str) -> Any:
        """Return a setting of the kind, or its default."""
        value = getattr(self, name.replace("-", "_"))
        return KINDS[self.kind][name] if value is None else value

    def __str__(self) -> str:
        settings = ", ".join(
            f"{name} {' '.join(map(str, value)) if isinstance(value, tuple) else value}"
            for name, value in self.changed().items()
        )
        return f"{self.kind}: {settings or 'every request'}"


class Script(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The faults of a rehearsal.

    Attributes:
        fault: the faults; the first that strikes a request counts, besides any latency.
        seed: the same seed strikes the same requests; drawn at random if not given.
    """

    fault: tuple[Fault, ...] = ()
    seed: int = msgspec.field(default_factory=lambda: secrets.randbelow(1_000_000))

    def __str__(self) -> str:
        faults = [f"  {fault}" for fault in self.fault] or ["  none"]
        return "\n".join([f"Faults, seed {self.seed}:", *faults])


def read_script(path: Path) -> Script:
    """Read a script from a TOML file.

    Raises:
        SettingsError: the file cannot be read, or is wrong.
    """
    try:
        return msgspec.convert(read_toml(path), Script)
    except OSError as error:
        raise SettingsError(
            f"The faults file {path} cannot be read: {reason(error)}.",
            "Give --faults a TOML file.",
        ) from error
    except msgspec.ValidationError as error:
        raise SettingsError(f"{path}: {_in_words(error)}.", HINT) from error
    except ValueError as error:  # of TOML and of UTF-8
        raise SettingsError(
            f"The faults file {path} is not TOML: {reason(error)}.", HINT
        ) from error


def _in_words(error: msgspec.ValidationError) -> str:
    """Name the fault, counted from 1, and the setting that an error is about."""
    message, _, where = str(error).partition(" - at `$.")
    where = re.sub(r"fault\[(\d+)\]\.?", lambda match: f"fault {int(match[1]) + 1} ", where)
    return f"{where.rstrip(' `')}: {message}" if where else message


class Dice:
    """Decides for each request, in order and repeatably, which faults of a script strike it."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._requests = 0
        self._seen = [0] * len(script.fault)  # requests of each fault's systems
        self._last = [0] * len(script.fault)  # which of them its burst ends with

    def throw(self, system: System, elapsed: float) -> tuple[float, Fault | None]:
        """Decide on the next request, to a system, some seconds after the service started.

        Returns:
            A delay in seconds; the fault that strikes then, if any.
        """
        self._requests += 1
        chance = Random(f"{self._script.seed}//{self._requests}")  # noqa: S311 - to be repeatable
        delay, struck = 0.0, None
        for number, fault in enumerate(self._script.fault):
            if not self._strikes(number, fault, system, elapsed):
                continue
            if fault.kind == "latency":
                delay += fault.setting("seconds") + chance.uniform(0, fault.setting("jitter"))
            else:
                struck = struck or fault
        if struck is not None and struck.kind == "garbage" and struck.setting("form") == "any":
            struck = msgspec.structs.replace(struck, form=chance.choice(FORMS))
        return delay, struck

    def _strikes(self, number: int, fault: Fault, system: System, elapsed: float) -> bool:
        if system not in fault.systems:
            return False
        self._seen[number] += 1
        if not fault.after <= elapsed < fault.until:
            return False
        if self._begins(number, fault):
            self._last[number] = self._seen[number] + fault.burst - 1
        return self._seen[number] <= self._last[number]

    def _begins(self, fault_number: int, fault: Fault) -> bool:
        """Return whether a burst begins with the last request of a fault's systems."""
        number = self._seen[fault_number]
        if fault.requests is not None:
            return number in fault.requests
        if fault.probability is None:
            return True
        chance = Random(f"{self._script.seed}/{fault_number}/{number}")  # noqa: S311 - to be repeatable
        return chance.random() < fault.probability
