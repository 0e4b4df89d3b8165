"""The faults that can be injected: a type for each, with its settings."""

from __future__ import annotations

from math import inf
from typing import Annotated, Any, Literal, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, model_validator

from pipeline.answers import SYSTEMS, System

__all__ = [
    "FORMS",
    "KINDS",
    "Cut",
    "Drip",
    "DropAfter",
    "DropBefore",
    "Duplicate",
    "Error",
    "Fault",
    "Form",
    "Garbage",
    "Gateway",
    "IdleClose",
    "Latency",
    "Redirect",
    "Refuse",
    "Stall",
    "When",
]

Seconds: TypeAlias = Annotated[float, Field(ge=0, le=86400)]

Form: TypeAlias = Literal[
    "absurd-cost",
    "currency",
    "duplicates",
    "empty",
    "html",
    "huge",
    "list",
    "nan",
    "negative-cost",
    "no-metadata",
    "text-confidence",
    "text-costs",
    "truncated",
    "types",
]

FORMS: tuple[Form, ...] = get_args(Form)

SHOWN = 8
"""Requests that are listed when a fault is announced."""


class When(BaseModel):
    """Which requests a fault strikes; by default every one.

    Attributes:
        probability: the probability that a request is struck.
        requests: the numbers of the requests to strike, instead of a probability; the first
            request of `systems` after the start is 1.
        systems: the systems whose requests can be struck.
        after: seconds after the start of the service when the fault begins.
        until: seconds after the start when the fault ends.
        most: the maximum number of strikes; a burst counts as one.
        burst: the number of requests of `systems` in a row that each strike hits.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        populate_by_name=True,
        alias_generator=lambda name: name.replace("_", "-"),
    )

    probability: Annotated[float, Field(ge=0, le=1)] = 1.0
    requests: tuple[PositiveInt, ...] | None = None
    systems: tuple[System, ...] = SYSTEMS
    after: Seconds = 0.0
    until: Annotated[float, Field(gt=0)] = inf
    most: PositiveInt | None = None
    burst: PositiveInt = 1

    @model_validator(mode="after")
    def _consistent(self) -> When:
        if self.requests is not None and "probability" in self.model_fields_set:
            raise ValueError("give a probability or requests, not both")
        if self.until <= self.after:
            raise ValueError("until must be later than after")
        return self

    def __str__(self) -> str:
        fields = self.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        settings = ", ".join(f"{name} {_plain(value)}" for name, value in fields.items())
        return f"{getattr(self, 'kind', '')}: {settings or 'every request'}"


class Latency(When):
    """The request waits before it is handled; another fault may strike it as well.

    Attributes:
        seconds: the minimum wait.
        jitter: the maximum random addition to it, in seconds.
    """

    kind: Literal["latency"] = "latency"
    seconds: Seconds = 0.0
    jitter: Seconds = 0.0


class DropBefore(When):
    """The connection is reset before the work: no answer, nothing billed."""

    kind: Literal["drop-before"] = "drop-before"


class DropAfter(When):
    """The connection is reset after the work: billed, but no answer."""

    kind: Literal["drop-after"] = "drop-after"


class Cut(When):
    """The connection is closed in the middle of the answer, which is billed."""

    kind: Literal["cut"] = "cut"


class Stall(When):
    """The request is delayed, then answered and billed even if the client has gone.

    Attributes:
        seconds: the delay; longer than the client's timeout to make it give up.
    """

    kind: Literal["stall"] = "stall"
    seconds: Annotated[Seconds, Field(gt=0)]


class Drip(When):
    """The answer, which is billed, is sent byte by byte.

    Attributes:
        seconds: the time that takes.
    """

    kind: Literal["drip"] = "drip"
    seconds: Annotated[Seconds, Field(gt=0)]


class Duplicate(When):
    """The answer is sent once more behind itself: on a kept connection, it looks like the next."""

    kind: Literal["duplicate"] = "duplicate"


class Refuse(When):
    """429, whether or not the limit was reached; nothing is billed.

    Attributes:
        retry_after: the form of the Retry-After header: seconds, a date, or none.
        seconds: the time that it asks the client to wait.
    """

    kind: Literal["refuse"] = "refuse"
    retry_after: Literal["seconds", "date", "none"] = "seconds"
    seconds: Annotated[int, Field(ge=0, le=86400)] = 1


class Error(When):
    """An error of the service or of a proxy before the work; nothing is billed.

    Attributes:
        status: the HTTP status.
        envelope: whether the body is the service's error (INTERNAL_ERROR), or a proxy's page.
    """

    kind: Literal["error"] = "error"
    status: Annotated[int, Field(ge=500, le=599)] = 500
    envelope: bool = True


class Gateway(When):
    """A proxy's error in place of the answer, which is billed.

    Attributes:
        status: the HTTP status, but not 503, which means that nothing was done.
    """

    kind: Literal["gateway"] = "gateway"
    status: Annotated[int, Field(ge=500, le=599)] = 502

    @model_validator(mode="after")
    def _unclear(self) -> Gateway:
        if self.status == 503:
            raise ValueError("503 means that nothing was done, so nothing may be billed")
        return self


class Garbage(When):
    """A malformed answer, which is billed.

    Attributes:
        form: what is wrong with it; "any" picks one at random.
    """

    kind: Literal["garbage"] = "garbage"
    form: Literal[Form, "any"] = "any"


class Redirect(When):
    """307 to another host; nothing is billed.

    Attributes:
        to: the base URL of the other host.
    """

    kind: Literal["redirect"] = "redirect"
    to: str = "http://192.0.2.1"


class IdleClose(When):
    """The connection is closed after a complete answer, so the next request on it may be lost.

    Attributes:
        seconds: the time after the answer; a connection in use by then stays open.
        jitter: the maximum random addition to it, in seconds.
    """

    kind: Literal["idle-close"] = "idle-close"
    seconds: Seconds = 0.0
    jitter: Seconds = 0.0


Fault: TypeAlias = (
    Latency
    | DropBefore
    | DropAfter
    | Cut
    | Stall
    | Drip
    | Duplicate
    | Refuse
    | Error
    | Gateway
    | Garbage
    | Redirect
    | IdleClose
)

KINDS: tuple[type[Fault], ...] = get_args(Fault)


def _plain(value: Any) -> str:
    if not isinstance(value, list):
        return str(value)
    more = f" and {len(value) - SHOWN} more" if len(value) > SHOWN else ""
    return " ".join(map(str, value[:SHOWN])) + more
