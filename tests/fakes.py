"""Stand-ins for what the tests do not want to wait for or cannot make happen."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from pathlib import Path

import pytest

from pipeline.answers import Answer, BatchAnswers, Failed, Match, Matched, System

COST = Decimal("0.00010499999999999999")

ANSWERS: dict[str, Answer] = {
    "road": Matched((Match("45233140", "Roadworks", 0.9), Match("45233000", "Roads", 0.4)), COST),
    "chairs": Matched((Match("39112000", "Chairs", 0.3),)),
    "gibberish": Matched(()),
    "refused": Failed("VALIDATION_ERROR"),
}


class ScriptedMatcher:
    """Answers from `ANSWERS`; does something first if asked to."""

    def __init__(
        self, systems: Sequence[System], before: Callable[[], object] = lambda: None
    ) -> None:
        self._systems = systems
        self._before = before

    def answers(self, batches: Iterable[Sequence[str]]) -> Iterator[BatchAnswers]:
        """Answer every system alike."""
        for texts in batches:
            self._before()
            row = [ANSWERS[text] if text else None for text in texts]
            yield dict.fromkeys(self._systems, row)


def keep_out_of(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deny everyone access to folders of a name, even root, who may run the tests."""
    stat = Path.stat

    def as_a_stranger(path: Path, **how: bool) -> os.stat_result:
        if folder in path.parts:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return stat(path, **how)

    monkeypatch.setattr(Path, "stat", as_a_stranger)


def read_terminal(ours: int) -> str:
    """Read all that programs wrote to a terminal that none of them has open, and close it."""
    shown = b""
    with suppress(OSError):  # nobody is at its other end
        while part := os.read(ours, 65_536):
            shown += part
    os.close(ours)
    return shown.decode()
