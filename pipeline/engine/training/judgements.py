"""Reads notices whose codes an expert judged."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.answers import System
from pipeline.errors import InputError

__all__ = ["Judgement", "Verdict", "read_judged"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the expert says of the codes of a text in one system.

    Attributes:
        accepted: the codes that fit.
        refused: the codes that do not, or are too general to be useful.
        unknowable: whether the text does not say what is bought, so that no code fits.
    """

    accepted: frozenset[str]
    refused: frozenset[str]
    unknowable: bool


@dataclass(frozen=True, slots=True)
class Judgement:
    """A text, the collection that it is from, and what an expert says of its codes."""

    text: str
    source: str
    verdicts: Mapping[System, Verdict]


def read_judged(path: Path) -> list[Judgement]:
    """Read a file with a JSON object on each line, compressed with gzip.

    Each has ``text``, ``source`` and ``systems``. Those have, by system, the lists ``candidates``
    (shown to the expert), ``accepted``, ``other`` (accepted, but not shown) and ``general``, or
    ``unknowable``.

    Raises:
        InputError: the file cannot be read, or a line is not such an object.
    """
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            return [_judgement(json.loads(line)) for line in lines]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path} holds no judged notices: {error}.", "Name another file as judged."
        ) from error


def _judgement(values: Mapping[str, Any]) -> Judgement:
    verdicts = {system: _verdict(each) for system, each in values["systems"].items()}
    return Judgement(values["text"], values["source"], verdicts)


def _verdict(values: Mapping[str, Any]) -> Verdict:
    if values.get("unknowable"):
        return Verdict(frozenset(), frozenset(), True)
    accepted = frozenset(values["accepted"]) | frozenset(values["other"])
    return Verdict(accepted, frozenset(values["candidates"]) - accepted, False)
