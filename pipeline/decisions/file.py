"""Reads and appends to a decisions file, whose last line may be cut off: a reviewer was killed."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from pipeline.decisions.decision import Decision
from pipeline.errors import InputError, OutputError
from pipeline.files.atomic import sync, translated
from pipeline.files.regular import open_regular
from pipeline.quoting import readable

__all__ = ["DecisionFile", "DecisionLog", "read_decisions"]


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
                    decisions += _decisions(path, number, line)
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror or error}.",
            "Give a file that tender-pipeline review has written: --decisions FILE.",
        ) from error
    return DecisionFile(path, hashed.hexdigest(), tuple(decisions), complete, torn)


def _decisions(path: Path, number: int, line: bytes) -> list[Decision]:
    try:
        return Decision.of_line(line)
    except ValueError as error:
        raise InputError(
            f"{path}, line {number}, is not a decision: {readable(str(error), 200)}.",
            "Correct or delete that line; a review writes one JSON object a line.",
        ) from error


OPTION = "--decisions FILE"


class DecisionLog:
    """A decisions file that one process appends to; a context manager.

    An incomplete last line is removed when the file is opened.

    Raises:
        InputError: the file has lines that are not decisions.
        OutputError: the file cannot be written, or another review has it open.

    Attributes:
        path: the file.
        before: what the file held when it was opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with translated(path, OPTION):
            new = not path.exists()
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
            self._file = os.open(path, flags, 0o666)
        try:
            self._lock()
            self.before: DecisionFile = read_decisions(path)
            with translated(path, OPTION):
                os.ftruncate(self._file, self.before.complete)
                if new:
                    sync(path.parent)
        except BaseException:
            os.close(self._file)
            raise

    def __enter__(self) -> DecisionLog:
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self._file)

    def append(self, decisions: Sequence[Decision]) -> None:
        """Write decisions to the disk: all of them or, if that fails, none.

        Raises:
            OutputError: they cannot be written.
        """
        lines = b"".join(decision.to_line() for decision in decisions)
        with translated(self.path, OPTION):
            size = os.fstat(self._file).st_size
            try:
                left = memoryview(lines)
                while left:
                    left = left[os.write(self._file, left) :]
                os.fsync(self._file)
            except BaseException:
                os.ftruncate(self._file, size)
                raise

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise OutputError(
                f"Another review is writing {self.path}.",
                "Finish it first, or save to a file of your own: --decisions FILE.",
            ) from error
