"""What can go wrong between a client and the service, and when it does: one type a fault."""

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
"""Places that are listed when a fault is announced."""


class When(BaseModel):
    """Which requests a fault strikes; by default every one.

    Attributes:
        probability: how likely each request is struck.
        requests: the places of those that are struck, instead of a probability; the first
            request of `systems` after the start has place 1.
        systems: the systems whose requests can be struck.
        after: seconds since the service started before which nothing is struck.
        until: seconds since then from which on nothing is struck.
        most: how often it strikes at most; a burst counts once.
        burst: how many requests of `systems` in a row are struck each time.
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
        said = self.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        settings = ", ".join(f"{name} {_plain(value)}" for name, value in said.items())
        return f"{getattr(self, 'kind', '')}: {settings or 'every request'}"


class Latency(When):
    """The request waits before anything happens; it may be struck by another fault besides.

    Attributes:
        seconds: how long at least.
        jitter: up to how much longer, at random.
    """

    kind: Literal["latency"] = "latency"
    seconds: Seconds = 0.0
    jitter: Seconds = 0.0


class DropBefore(When):
    """The connection is reset before the work is done: no answer, nothing billed."""

    kind: Literal["drop-before"] = "drop-before"


class DropAfter(When):
    """The connection is reset after the work is done: billed, but no answer."""

    kind: Literal["drop-after"] = "drop-after"


class Cut(When):
    """The connection is closed in the middle of the answer, which is billed."""

    kind: Literal["cut"] = "cut"


class Stall(When):
    """Nothing happens for a while; then the request is worked off and billed, client or not.

    Attributes:
        seconds: for how long; more than the client's timeout, if it is to give up.
    """

    kind: Literal["stall"] = "stall"
    seconds: Annotated[Seconds, Field(gt=0)]


class Drip(When):
    """The answer, which is billed, comes byte by byte.

    Attributes:
        seconds: how long that takes.
    """

    kind: Literal["drip"] = "drip"
    seconds: Annotated[Seconds, Field(gt=0)]


class Refuse(When):
    """429, whether or not the limit was kept; nothing is billed.

    Attributes:
        retry_after: how the answer says when to come back: in seconds, as a date, or not at all.
        seconds: how long from now that is.
    """

    kind: Literal["refuse"] = "refuse"
    retry_after: Literal["seconds", "date", "none"] = "seconds"
    seconds: Annotated[int, Field(ge=0, le=86400)] = 1


class Error(When):
    """An error of the service or of a proxy before the work is done; nothing is billed.

    Attributes:
        status: the HTTP status.
        envelope: whether it has the service's envelope (INTERNAL_ERROR) or is a proxy's page.
    """

    kind: Literal["error"] = "error"
    status: Annotated[int, Field(ge=500, le=599)] = 500
    envelope: bool = True


class Gateway(When):
    """A proxy's error in place of the answer, which is billed.

    Attributes:
        status: the HTTP status; 503 would say that nothing was done.
    """

    kind: Literal["gateway"] = "gateway"
    status: Annotated[int, Field(ge=500, le=599)] = 502

    @model_validator(mode="after")
    def _unclear(self) -> Gateway:
        if self.status == 503:
            raise ValueError("503 says that nothing was done, so nothing may be billed")
        return self


class Garbage(When):
    """An answer that is billed and not as it should be.

    Attributes:
        form: what is wrong with it; "any" takes one at random.
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
    """The answer is whole, and the kept connection closed behind it: the next one may be lost.

    Attributes:
        seconds: how long after the answer; a connection in use then is left alone.
        jitter: up to how much longer, at random.
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
