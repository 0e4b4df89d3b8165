"""Every error that the package raises on purpose, each with a hint on what to do about it.

PipelineError
├── SettingsError     an option, environment variable or settings file is wrong
├── InputError        the table cannot be read
│   └── InputChangedError   it changed between the two times it was read
├── OutputError       the output cannot be written, or must not be replaced
├── CodeTableError    an unknown code, or a code table that cannot be read
├── EngineError       the embedded engine cannot answer here
├── NoMatchError      more rows have no match than allowed
├── LedgerError       the ledger cannot be read or written
└── ParkedError       a job stopped before its end and can be continued
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from pipeline.wording import Words

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
    """An error that the user can fix.

    Attributes:
        message: what happened, with the value.
        hint: what to do about it.
        exit_code: the exit code of the command line.
    """

    exit_code = 2

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __setattr__(self, name: str, value: Any) -> None:
        """Let the message and the hint know the wording of Python as well."""
        super().__setattr__(name, Words(value) if name in ("message", "hint") else value)

    def __str__(self) -> str:
        # A message may end with the words of a service, which need not end a sentence.
        end = "" if self.message.endswith((".", "!", "?")) else "."
        return f"{self.message}{end} {self.hint}".rstrip()


class SettingsError(PipelineError):
    """An option, an environment variable or the settings file has an invalid value."""


class InputError(PipelineError):
    """The input table cannot be read: missing, ragged, undecodable, or without a column."""


class InputChangedError(InputError):
    """The input table changed between the two times it was read, so no output was written."""


class OutputError(PipelineError):
    """The output cannot be written, or would replace a file that this tool did not write."""


class CodeTableError(PipelineError):
    """An unknown code, or an official code file that cannot be read."""


class EngineError(PipelineError):
    """The embedded engine cannot answer here.

    One of its processes died, usually because memory ran out. Or a `pipeline.Classifier` was made
    with another version of the package, other models or other code tables.
    """

    exit_code = 1


class NoMatchError(PipelineError):
    """More rows have no match than the job allows; the output was written nevertheless.

    Attributes:
        message: how many rows, in which systems.
        hint: what to do about it.
        result: what `pipeline.classify` would have returned.
    """

    exit_code = 3
    result: Any = None


class LedgerError(PipelineError):
    """The ledger is damaged, locked, full, or from a newer version of this tool."""

    exit_code = 8


class ParkedError(PipelineError):
    """A job stopped in good order before its end; the same call or command continues it.

    Attributes:
        message: why it stopped.
        hint: how to continue it.
        exit_code: the exit code of the command line.
        cost_usd: what the job has cost so far, US dollars.
    """

    def __init__(
        self, message: str, hint: str, exit_code: int = 7, cost_usd: Decimal = Decimal(0)
    ) -> None:
        super().__init__(message, hint)
        self.args = (message, hint, exit_code, cost_usd)
        self.exit_code = exit_code
        self.cost_usd = cost_usd


def reason(error: Exception) -> str:
    """Return what an error of Python says, in words for people: without numbers and codecs."""
    match error:
        case OSError(strerror=str(text)):
            return text
        case UnicodeDecodeError():
            return f"byte 0x{error.object[error.start]:02X} is not {error.encoding.upper()}"
        case _:
            return str(error)
