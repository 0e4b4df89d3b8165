"""What a deployment promises: how it is set, and how each thing that can go wrong is answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pipeline.answers import System
from pipeline.rate import AUTHENTICATED, DEMO, Rate
from pipeline.service.errors import (
    INTERNAL_ERROR,
    InsufficientBalanceError,
    RateLimitError,
    UnauthorizedError,
    ValidationError,
)
from pipeline.service.http.bodies import MAX_CHARACTERS, Metadata
from pipeline.service.http.protocol import MAX_HEAD, SLOWEST
from pipeline.service.http.requests import JSON, MAX_BODY

__all__ = ["FAILURES", "SYSTEM_NAMES", "Failure", "Form", "Terms"]

Form: TypeAlias = Literal["detailed", "compact"]
"""One form of the metadata."""

SYSTEM_NAMES: dict[System, str] = {
    "cpv": "Common Procurement Vocabulary",
    "psc": "Product and Service Codes",
    "unspsc": "United Nations Standard Products and Services Code",
    "naics": "North American Industry Classification System",
}


@dataclass(frozen=True, slots=True)
class Terms:
    """How a deployment is set.

    Attributes:
        metadata: the form of its responses.
        key_rate: the limit of each account; None for no limit.
        demo_rate: the limit of each address without a key; None for no limit.
    """

    metadata: Metadata = "detailed"
    key_rate: Rate | None = AUTHENTICATED
    demo_rate: Rate | None = DEMO

    @property
    def forms(self) -> tuple[Form, ...]:
        """The forms of the metadata that its responses have."""
        return ("detailed", "compact") if self.metadata == "mixed" else (self.metadata,)

    @property
    def limits(self) -> tuple[tuple[Rate | None, str], ...]:
        """Each limit and whom it is for."""
        return (self.key_rate, "an account"), (self.demo_rate, "an address without a key")


@dataclass(frozen=True, slots=True)
class Failure:
    """One way in which a request gets no matches, and costs nothing.

    Attributes:
        status: the HTTP status.
        error: the interface's error type.
        when: what is the matter.
        then: what to do about it.
        example: what a message says.
        of_a_call: whether a request to an endpoint can end so, or only one that misses them.
    """

    status: int
    error: str
    when: str
    then: str
    example: str
    of_a_call: bool = True


FAILURES = (
    Failure(
        400,
        ValidationError.error,
        "The body is not a JSON object in UTF-8, holds a name twice, or has no description of 1 to "
        f"{MAX_CHARACTERS:,} characters that are not all white space.",
        "Mend the request; the same one will never be answered.",
        'There is no description. Send {"description": "..."}.',
    ),
    Failure(
        401,
        UnauthorizedError.error,
        "There is an X-API-Key, but it is unknown or revoked.",
        "Send another key, or none for a demo request.",
        "The API key is unknown or revoked. Send another X-API-Key.",
    ),
    Failure(
        402,
        InsufficientBalanceError.error,
        "The balance of the account does not cover the price of the answer.",
        "Top the balance up.",
        "The balance does not cover the 0.0000795 USD of this call. Top it up.",
    ),
    Failure(
        404,
        ValidationError.error,
        "There is nothing at this path.",
        "Check the address: there is no slash at its end.",
        "Not Found. Send POST to one of /api/cpv/match, /api/psc/match, /api/unspsc/match, "
        "/api/naics/match.",
        of_a_call=False,
    ),
    Failure(
        405,
        ValidationError.error,
        "The path does not take this method.",
        "Use one that the Allow header names.",
        "Method Not Allowed. This path takes GET, HEAD.",
        of_a_call=False,
    ),
    Failure(
        408,
        INTERNAL_ERROR,
        f"The request took more than {SLOWEST:g} seconds to arrive.",
        "Send it again.",
        f"The request is too slow. Send it within {SLOWEST:g} s.",
    ),
    Failure(
        413,
        ValidationError.error,
        f"The body has more than {MAX_BODY:,} bytes.",
        "Shorten the description.",
        f"The body is too large. Send {MAX_BODY:,} bytes at most.",
    ),
    Failure(
        415,
        ValidationError.error,
        f"Content-Type is not {JSON}, names another charset than UTF-8, or the body is compressed.",
        f"Send JSON as it is, with Content-Type: {JSON}.",
        "The body is not JSON. Send it with Content-Type: application/json.",
    ),
    Failure(
        429,
        RateLimitError.error,
        "There were too many requests of this account, or of this address without a key.",
        "Wait as many seconds as the Retry-After header says.",
        "Too many requests of this account. Wait 12 s before the next request.",
    ),
    Failure(
        431,
        ValidationError.error,
        f"The address and the headers have more than {MAX_HEAD:,} bytes.",
        "Send less of them.",
        f"The head is too large. Send {MAX_HEAD:,} bytes at most.",
    ),
    Failure(
        500,
        INTERNAL_ERROR,
        "The service failed.",
        "Try again later.",
        "The service failed. Try again later; its log calls this request 73402056d0e5c61b.",
    ),
    Failure(
        503,
        INTERNAL_ERROR,
        "There are too many connections, or the accounts cannot be read.",
        "Try again in a moment.",
        "The service is busy. Try again in a moment.",
    ),
)
"""All of them, by status."""
