"""A user's command line in a folder of its own, at a service with some answers of the test."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli import main
from tests.paid.serving import serving

POOR = json.dumps({"success": False, "error": "INSUFFICIENT_BALANCE", "message": "Empty."})
NO_SUCH_TEXT = json.dumps({"success": False, "error": "VALIDATION_ERROR", "message": "Odd."})


def success(price: str, currency: str = "USD") -> tuple[int, dict[str, str], str]:
    """Return a response with one match and a price, as it is written."""
    match = {"code": "45000000", "title": "Works", "confidence": 0.5}
    metadata = {"costBreakdown": {"finalCost": "?", "currency": currency}}
    body = json.dumps({"success": True, "data": [match], "metadata": metadata})
    return 200, {}, body.replace('"?"', price)


def tender_pipeline(*arguments: object) -> int:
    """Run the command line, and return its exit code."""
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as exit_:
        patch.setattr(sys, "argv", ["tender-pipeline", *map(str, arguments)])
        main()
    return int(exit_.value.code or 0)


class CommandLine:
    """Runs the command line for a table in a folder, at a service, with a key."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.table = folder / "in.csv"
        self.output = folder / "out.csv"
        self.ledger = folder / "ledger.db"
        self.address = ""
        self.out = self.err = ""

    def write(self, *texts: str) -> None:
        self.table.write_text("".join(f"{text}\n" for text in ("description", *texts)))

    @contextmanager
    def at(self, app: Any) -> Iterator[None]:
        with serving(app) as self.address:
            yield

    def arguments(self, command: str, *more: str) -> list[str]:
        paths = [command, str(self.table), "--output", str(self.output)]
        paid = ["--base-url", self.address, "--ledger", str(self.ledger), "--rate", "none"]
        systems = () if "--systems" in more else ("--systems", "cpv")
        return [*paths, *paid, *systems, "--workers", "1", *more]

    def __call__(self, command: str, *more: str, **settings: str) -> int:
        """Run a command for the table; the keywords are set as variables."""
        with pytest.MonkeyPatch.context() as patch:
            for name, value in settings.items():
                patch.setenv(f"TENDER_PIPELINE_{name.upper()}", value)
            return self.run(*self.arguments(command, *more))

    def run(self, *arguments: object) -> int:
        code = tender_pipeline(*arguments)
        self.out, self.err = self._capsys.readouterr()
        return code

    @property
    def summary(self) -> Any:
        return json.loads(self.out)


def folder_of(line: CommandLine, texts: dict[str, list[str]]) -> None:
    """Write a file for each list of texts, to be classified as a folder."""
    line.table = line.table.with_name("data")
    line.output = line.output.with_name("out")
    line.table.mkdir()
    for name, rows in texts.items():
        (line.table / f"{name}.csv").write_text("".join(f"{t}\n" for t in ["description", *rows]))
