"""One decision of a person about one text in one system, and its line in a decisions file."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Literal, TypeAlias, get_args

from pipeline.answers import SYSTEMS, System
from pipeline.codes import normalized

__all__ = ["Choice", "Decision", "Key", "text_key"]

Choice: TypeAlias = Literal["code", "none", "skip", "undo"]
"""A code was chosen; no code fits; the text was put off; the last decision was taken back."""

Key: TypeAlias = tuple[System, bytes]
"""What a decision is about: the system, and the digest of the text."""

VERSION = 1

CHOICES: tuple[Choice, ...] = get_args(Choice)

OPTIONAL = ("title", "model", "best", "batch")


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person decided.

    Attributes:
        system: the system.
        text: the text, as it was classified.
        choice: see `Choice`.
        by: who decided.
        at: when, in UTC, as ISO 8601 writes it.
        code: the chosen code; "" unless a code was chosen.
        title: its title.
        model: what had suggested codes, such as a model and its version.
        best: the best match that it suggested; "" for none.
        confidence: the confidence of the best match; None without one.
        blind: whether the reviewer chose without seeing which match was the best.
        batch: marks decisions that were made together; "" for one that was made by itself.
        settles: whether it settles a conflict, and so replaces earlier decisions of others.
    """

    system: System
    text: str
    choice: Choice
    by: str
    at: str
    code: str = ""
    title: str = ""
    model: str = ""
    best: str = ""
    confidence: float | None = None
    blind: bool = False
    batch: str = ""
    settles: bool = False

    @property
    def key(self) -> Key:
        """What the decision is about."""
        return self.system, text_key(self.text)

    @property
    def outcome(self) -> str:
        """The chosen code, or that none fits, for people."""
        return self.code or "none fits"

    def to_line(self) -> bytes:
        """Return the decision as a line of a decisions file."""
        line = json.dumps({"version": VERSION, **asdict(self)}, ensure_ascii=False, allow_nan=False)
        return line.encode() + b"\n"

    @classmethod
    def of_line(cls, line: bytes) -> Decision:
        """Return the decision in a line; unknown names are ignored.

        Raises:
            ValueError: the line holds no valid decision; the message says why.
        """
        return _checked(_object(line))


def text_key(text: str) -> bytes:
    """Return the digest by which a text is known."""
    return sha256(text.encode()).digest()


def _object(line: bytes) -> dict[str, Any]:
    try:
        values = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError("it is not JSON") from error
    if not isinstance(values, dict):
        raise ValueError("it is not a JSON object")
    if values.get("version") != VERSION:
        raise ValueError(f"its version is {values.get('version')!r}, and this tool reads {VERSION}")
    return values


def _checked(values: dict[str, Any]) -> Decision:
    system, choice = values.get("system"), values.get("choice")
    if system not in SYSTEMS:
        raise ValueError(f"its system is {system!r}")
    if choice not in CHOICES:
        raise ValueError(f"its choice is {choice!r}")
    return Decision(
        system=system,
        text=_text(values, "text"),
        choice=choice,
        by=_text(values, "by"),
        at=_time(_text(values, "at")),
        code=_code(system, _text(values, "code")) if choice == "code" else "",
        **{name: _text(values, name, "") for name in OPTIONAL},
        confidence=_confidence(values.get("confidence")),
        blind=values.get("blind") is True,
        settles=values.get("settles") is True,
    )


def _text(values: dict[str, Any], name: str, default: str | None = None) -> str:
    value = values.get(name, default)
    if not isinstance(value, str) or (not value and default is None):
        raise ValueError(f"its {name} is missing or not text")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"its {name} has an unpaired surrogate") from error
    return value


def _time(written: str) -> str:
    """Return a time in UTC, so that times compare as text."""
    try:
        moment = datetime.fromisoformat(written)
    except ValueError as error:
        raise ValueError(f"its time is {written!r}") from error
    moment = moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
    return moment.isoformat(timespec="milliseconds")


def _code(system: System, written: str) -> str:
    code = normalized(system, written)
    if code is None:
        raise ValueError(f"its code {written!r} is not a {system} code")
    return code


def _confidence(value: Any) -> float | None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number and math.isfinite(value) else None
