"""Reads a decisions file; its last line may be cut off, because a reviewer was killed."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from pipeline.decisions.decision import Decision
from pipeline.errors import InputError
from pipeline.files.regular import open_regular
from pipeline.quoting import readable

__all__ = ["DecisionFile", "read_decisions"]


@dataclass(frozen=True, slots=True)
class DecisionFile:
    """The contents of a decisions file.

    Attributes:
        path: the file.
        sha256: of its bytes.
        decisions: its decisions, in the order in which they were made.
        complete: how many bytes its complete lines have.
        torn: whether an incomplete line follows them.
    """

    path: Path
    sha256: str
    decisions: tuple[Decision, ...]
    complete: int
    torn: bool

    @property
    def warning(self) -> str | None:
        """What to tell the user about the file; None for nothing."""
        if not self.torn:
            return None
        return (
            f"The last line of {self.path} is incomplete and is ignored: the program was stopped "
            "while it wrote it. Review that text again."
        )


def read_decisions(path: Path) -> DecisionFile:
    """Read a decisions file.

    Raises:
        InputError: the file cannot be read, or a line other than the last is not a decision.
    """
    hashed = sha256()
    decisions: list[Decision] = []
    complete, torn = 0, False
    try:
        with open_regular(path) as file:
            for number, line in enumerate(file, start=1):
                hashed.update(line)
                if not line.endswith(b"\n"):
                    torn = True
                    break
                complete += len(line)
                if line.strip():
                    decisions.append(_decision(path, number, line))
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror or error}.",
            "Give a file that tender-pipeline review has written: --decisions FILE.",
        ) from error
    return DecisionFile(path, hashed.hexdigest(), tuple(decisions), complete, torn)


def _decision(path: Path, number: int, line: bytes) -> Decision:
    try:
        return Decision.of_line(line)
    except ValueError as error:
        raise InputError(
            f"{path}, line {number}, is not a decision: {readable(str(error), 200)}.",
            "Correct or delete that line; a review writes one JSON object a line.",
        ) from error
