"""Decisions for the tests, and files of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pipeline.decisions.decision_file import Decision

AT = "2026-03-01T10:00:00.000+00:00"


def chose(text: str, code: str, **more: Any) -> Decision:
    """Return the decision for a code."""
    usual = {"system": "cpv", "choice": "code", "by": "Anna", "at": AT, "title": "Its title"}
    return Decision(**{"text": text, "code": code, **usual, **more})


def nothing_fits(text: str, **more: Any) -> Decision:
    return chose(text, "", **{"choice": "none", "title": ""} | more)


def write(path: Path, decisions: Iterable[Decision]) -> Path:
    """Write a decisions file."""
    path.write_bytes(b"".join(decision.to_line() for decision in decisions))
    return path
