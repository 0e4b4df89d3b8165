"""Appends decisions to a file; each is on the disk before the next one is asked for."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from pathlib import Path

from pipeline.decisions.decision import Decision
from pipeline.decisions.reading import DecisionFile, read_decisions
from pipeline.errors import OutputError
from pipeline.files.atomic import sync, translated

__all__ = ["DecisionLog"]

OPTION = "--decisions FILE"


class DecisionLog:
    """A decisions file that one process appends to; a context manager.

    An incomplete last line is removed when the file is opened.

    Args:
        path: the file; created if it does not exist.

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
