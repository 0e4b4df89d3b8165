"""Retired Product and Service Codes, with their last days and their successors."""

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
    """When a code was retired, and what replaced it.

    Attributes:
        until: the last day on which it was valid.
        successor: the code of the current table that replaced it; None if there is none, if its
            meaning was split among several, or if it is unknown.
    """

    until: date
    successor: str | None


def retired(code: str) -> Retired | None:
    """Return when a PSC was retired; None for a valid or an unknown code."""
    return _psc().get(normalized("psc", code) or "")


def retirements(system: System) -> Mapping[str, Retired]:
    """Return the retired codes of a system; only PSC has any."""
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
