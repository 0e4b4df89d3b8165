"""The Product and Service Codes that were retired, since when, and what took their place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from types import MappingProxyType

from pipeline.answers import System
from pipeline.codes.normalization import normalized
from pipeline.codes.shipped import DATA

__all__ = ["Retired", "retired", "retirements"]


@dataclass(frozen=True, slots=True)
class Retired:
    """The end of a code.

    Attributes:
        until: the last day on which it could be given.
        successor: the code of today's table that took its place; None if none did, if several
            share what it meant, or if it is not known.
    """

    until: date
    successor: str | None


def retired(code: str) -> Retired | None:
    """Return the end of a PSC, None if it never ended or never was."""
    return _psc().get(normalized("psc", code) or "")


def retirements(system: System) -> Mapping[str, Retired]:
    """Return the retired codes of a system; they are known of PSC only."""
    return _psc() if system == "psc" else {}


@cache
def _psc() -> Mapping[str, Retired]:
    lines = (DATA / "psc_retired.tsv").read_text("utf-8").splitlines()
    rows = (line.split("\t") for line in lines if not line.startswith("#"))
    return MappingProxyType(
        {
            code: Retired(date.fromisoformat(until), successor[0] if successor else None)
            for code, until, *successor in rows
        }
    )
