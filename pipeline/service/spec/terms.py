"""What /docs and /openapi.json say of a deployment: its settings, errors and example answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pipeline.answers import Match, System
from pipeline.rate import AUTHENTICATED, DEMO, Rate
from pipeline.service.errors import (
    INTERNAL_ERROR,
    InsufficientBalanceError,
    RateLimitError,
    UnauthorizedError,
    ValidationError,
)
from pipeline.service.http.messages import (
    ENDPOINTS,
    JSON,
    MAX_BODY,
    MAX_CHARACTERS,
    Metadata,
    success,
)
from pipeline.service.http.protocol import MAX_HEAD, SLOWEST
from pipeline.service.matching.pricing import price

__all__ = [
    "DESCRIPTION",
    "FAILURES",
    "MATCHES",
    "SYSTEM_NAMES",
    "Failure",
    "Form",
    "Terms",
    "nothing_found",
    "response",
]

Form: TypeAlias = Literal["detailed", "compact"]
"""A form of the metadata."""

SYSTEM_NAMES: dict[System, str] = {
    "cpv": "Common Procurement Vocabulary",
    "psc": "Product and Service Codes",
    "unspsc": "United Nations Standard Products and Services Code",
    "naics": "North American Industry Classification System",
}

DESCRIPTION = "Cleaning of school buildings"

MATCHES: dict[System, tuple[Match, ...]] = {
    "cpv": (
        Match("90919300", "School cleaning services", 0.5237),
        Match("90910000", "Cleaning services", 0.2342),
    ),
    "psc": (
        Match("S201", "Housekeeping: custodial janitorial", 0.4701),
        Match("S214", "Housekeeping: carpet laying/cleaning", 0.098),
    ),
    "unspsc": (
        Match("76111500", "General building and office cleaning and maintenance services", 0.366),
        Match("76110000", "Cleaning and janitorial services", 0.3185),
    ),
    "naics": (
        Match("561720", "Janitorial Services", 0.3089),
        Match("562910", "Remediation Services", 0.1934),
    ),
}
"""Answers like the engine's, whose confidences change with its models."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The settings of a deployment.

    Attributes:
        metadata: the form of the metadata in responses.
        key_rate: the limit of each account; None for no limit.
        demo_rate: the limit of each address without a key; None for no limit.
    """

    metadata: Metadata = "detailed"
    key_rate: Rate | None = AUTHENTICATED
    demo_rate: Rate | None = DEMO

    @property
    def forms(self) -> tuple[Form, ...]:
        """The forms of the metadata that responses can have."""
        return ("detailed", "compact") if self.metadata == "mixed" else (self.metadata,)

    @property
    def limits(self) -> tuple[tuple[Rate | None, str], ...]:
        """Each limit and what it applies to."""
        return (self.key_rate, "an account"), (self.demo_rate, "an address without a key")


@dataclass(frozen=True, slots=True)
class Failure:
    """An error response, which costs nothing: what is wrong, what to do then, and an example.

    Some answer only requests to another path or method than that of a call.
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
        "The body is not a JSON object in UTF-8, has a name twice, or has no description of 1 to "
        f"{MAX_CHARACTERS:,} characters that are not all white space.",
        "Correct the request; the same one will always be refused.",
        'There is no description. Send {"description": "..."}.',
    ),
    Failure(
        401,
        UnauthorizedError.error,
        "The X-API-Key is unknown or revoked.",
        "Send another key, or none for a demo request.",
        "The API key is unknown or revoked. Send another X-API-Key.",
    ),
    Failure(
        402,
        InsufficientBalanceError.error,
        "The balance of the account does not cover the price of the answer.",
        "Ask the operator to top up the balance.",
        "The balance does not cover the 0.0000795 USD of this call. Ask the operator to top it up.",
    ),
    Failure(
        404,
        ValidationError.error,
        "There is nothing at this path.",
        "Check the address; it has no slash at the end.",
        f"Not Found. Send POST to one of {', '.join(ENDPOINTS)}.",
        of_a_call=False,
    ),
    Failure(
        405,
        ValidationError.error,
        "The path does not take this method.",
        "Use a method in the Allow header.",
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
        f"Content-Type is not {JSON} in UTF-8, or the body is compressed.",
        f"Send uncompressed JSON with Content-Type: {JSON}.",
        "The body is not JSON. Send it with Content-Type: application/json.",
    ),
    Failure(
        429,
        RateLimitError.error,
        "Too many requests from this account, or from this address without a key.",
        "Wait for the seconds in the Retry-After header.",
        "Too many requests of this account. Wait 12 s before the next request.",
    ),
    Failure(
        431,
        ValidationError.error,
        f"The request line and the headers have more than {MAX_HEAD:,} bytes.",
        "Send fewer or shorter headers.",
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
        "There are too many connections, or the accounts cannot be used.",
        "Try again in a moment.",
        "The service is busy. Try again in a moment.",
    ),
)
"""All error responses, by status."""


def response(system: System, form: Metadata) -> bytes:
    """Return the body of a response with matches."""
    return success(system, DESCRIPTION, MATCHES[system], price(MATCHES[system]), form)


def nothing_found(system: System, form: Metadata) -> bytes:
    """Return the body of a response without matches."""
    return success(system, "...", (), price(()), form)
