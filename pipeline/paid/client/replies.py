"""How an attempt ended: apart from the client, whose HTTP libraries are slow to import."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec

__all__ = ["Failure", "Lost", "NotSent", "Received", "Reply"]

Failure: TypeAlias = Literal["TIMEOUT", "CONNECTION_ERROR"]


class Received(msgspec.Struct, frozen=True):
    """A response arrived.

    Attributes:
        status: its HTTP status.
        headers: those that matter, with names in lower case.
        body: its bytes, uncompressed; if it is larger than allowed, cut one byte beyond the limit.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes


class NotSent(msgspec.Struct, frozen=True):
    """The attempt failed before any of the text was sent: it cannot have been billed.

    ``error`` is the kind of failure, ``detail`` what the network said.
    """

    error: Failure
    detail: str


class Lost(msgspec.Struct, frozen=True):
    """The attempt failed after that: the service may have answered and billed it."""

    error: Failure
    detail: str


Reply: TypeAlias = Received | NotSent | Lost
