"""Runs of several files, and what became of each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.conftest import Capture, Command


def files_in(folder: Path) -> list[str]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return sorted(str(path.relative_to(folder)) for path in found if "manifest" not in path.name)


def run(command: Command, capsys: Capture, *arguments: object, **settings: object) -> Any:
    """Run with PSC codes and return the exit code with what it says as JSON."""
    options = ("--systems", "psc", "--json")
    code = command("run", *arguments, *options, **settings)
    return code, json.loads(capsys.readouterr().out.splitlines()[-1])


def states(figures: Any) -> list[str]:
    return [file["state"] for file in figures["files"]]
