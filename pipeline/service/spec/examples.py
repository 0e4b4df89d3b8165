"""The example request and its responses in /openapi.json and /docs."""

from __future__ import annotations

from pipeline.answers import Match, System
from pipeline.service.http.bodies import Metadata, success
from pipeline.service.matching.pricing import price

__all__ = ["DESCRIPTION", "MATCHES", "nothing_found", "response"]

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


def response(system: System, form: Metadata) -> bytes:
    """Return the body of a response with matches."""
    return success(system, DESCRIPTION, MATCHES[system], price(MATCHES[system]), form)


def nothing_found(system: System, form: Metadata) -> bytes:
    """Return the body of a response without matches."""
    return success(system, "...", (), price(()), form)
