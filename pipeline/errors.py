"""Every error that the package raises on purpose, each with what the reader can do about it.

PipelineError
├── SettingsError     an option, environment variable or settings file is wrong
├── InputError        the table cannot be read as it is
│   └── InputChangedError   it changed while it was being read
├── OutputError       the output may not or cannot be written
├── CodeTableError    a code, a system or an official code file is not as it should be
├── EngineError       a worker process of the engine died
├── NoMatchError      too many rows got no match
├── LedgerError       the ledger cannot be read or written
└── ParkedError       a job stopped before its end and can go on
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

__all__ = [
    "CodeTableError",
    "EngineError",
    "InputChangedError",
    "InputError",
    "LedgerError",
    "NoMatchError",
    "OutputError",
    "ParkedError",
    "PipelineError",
    "SettingsError",
]


class PipelineError(Exception):
    """Something the user can mend.

    Attributes:
        message: what is wrong, in one sentence.
        hint: what to do about it.
        exit_code: what the command line exits with.
    """

    exit_code = 2

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}"


class SettingsError(PipelineError):
    """An option, an environment variable or the settings file holds something unusable."""


class InputError(PipelineError):
    """The input table cannot be read as it is: not there, ragged, undecodable, wrong column."""


class InputChangedError(InputError):
    """The input table changed between the two times it is read, so no output was written."""


class OutputError(PipelineError):
    """The output may not be written where it should go, or the disk refused it."""


class CodeTableError(PipelineError):
    """An unknown code or system, or an official code file that cannot be understood."""


class EngineError(PipelineError):
    """A worker process of the embedded engine died, most often for want of memory."""

    exit_code = 1


class NoMatchError(PipelineError):
    """More rows got no match than the job allows; the enriched table is there all the same.

    Attributes:
        message: how many, in which systems.
        hint: what to do about it.
        result: what `pipeline.classify` would have returned; None until it raises this.
    """

    exit_code = 3
    result: Any = None


class LedgerError(PipelineError):
    """The ledger is damaged, locked, full, or from a newer version of this tool."""

    exit_code = 8


class ParkedError(PipelineError):
    """A job stopped in good order before its end; done again, it goes on from there.

    Attributes:
        message: why.
        hint: what to do about it.
        exit_code: what the command line would exit with.
        cost_usd: what the job has cost so far, US dollars.
    """

    def __init__(
        self, message: str, hint: str, exit_code: int = 7, cost_usd: Decimal = Decimal(0)
    ) -> None:
        super().__init__(message, hint)
        self.args = (message, hint, exit_code, cost_usd)
        self.exit_code = exit_code
        self.cost_usd = cost_usd
