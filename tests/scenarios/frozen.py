"""What scripts and schedulers rely on, read off the code: names, defaults and shapes.

    python -m tests.scenarios.frozen

writes it to ``frozen.json``, which the next test run compares with. A line that changes there is a
change for users: it belongs into the changelog.
"""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
from click.testing import CliRunner

import pipeline
from pipeline.classification.columns import new_fields
from pipeline.cli.app import app
from pipeline.paid.ledger.ledger import Ledger
from pipeline.settings import Settings

SHIPPED = Path(pipeline.__file__).with_name("engine") / "shipped"
FILE = Path(__file__).with_name("frozen.json")


def frozen() -> dict[str, Any]:
    """Return everything that is frozen, as JSON types."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        return {
            "commands": dict(_commands(app, "tender-pipeline")),
            "columns": _columns(),
            "json": _json(folder),
            "ledger": _schema(_ledger(folder)),
            "model": _model(),
            "python": sorted(pipeline.__all__),
        }


def _commands(command: click.Command, path: str) -> Iterator[tuple[str, Any]]:
    """Yield each command with its help and its parameters."""
    yield path, {"help": command.help, "parameters": [_parameter(p) for p in command.params]}
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None:
                yield from _commands(inner, f"{path} {name}")


def _parameter(parameter: click.Parameter) -> dict[str, Any]:
    default = parameter.default
    return {
        "names": [*parameter.opts, *parameter.secondary_opts],
        "help": getattr(parameter, "help", None),
        "default": default if isinstance(default, str | int | float | bool) else None,
        "variable": parameter.envvar,
        "multiple": parameter.multiple,
    }


def _columns() -> list[str]:
    settings = Settings(systems=("cpv", "psc"), top=2, explain=True)
    return [f"{field.name}: {field.type}" for field in new_fields(settings)]


def _json(folder: Path) -> dict[str, Any]:
    """Return the shapes of what programs read: ``--json`` and the manifest."""
    source, output = folder / "in.csv", folder / "out.csv"
    with source.open("w", newline="") as file:
        csv.writer(file).writerows([["description"], ["Road works"], [""]])
    found = {}
    paid = ["--base-url", "https://service.example", "--ledger", str(folder / "plan.db")]
    for name, arguments in {
        "run": ["run", str(source), "--output", str(output)],
        "plan": ["plan", str(source)],
        "plan of a paid run": ["plan", str(source), *paid],
    }.items():
        done = CliRunner().invoke(app, [*arguments, "--systems", "cpv", "--json"])
        found[name] = _shape(json.loads(done.stdout))
    manifest = output.with_name(f"{output.name}.manifest.json")
    return {**found, "manifest": _shape(json.loads(manifest.read_text("utf-8")))}


def _shape(value: Any) -> Any:
    """Return what a value is made of, without its figures."""
    match value:
        case dict():
            return {name: _shape(inner) for name, inner in value.items()}
        case list():
            return [_shape(inner) for inner in value[:1]]
        case _:
            return type(value).__name__


def _ledger(folder: Path) -> Path:
    path = folder / "ledger.db"
    Ledger(path, "https://service.example").close()
    return path


def _schema(path: Path) -> list[str]:
    connection = sqlite3.connect(path)
    try:
        found = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
        return sorted(" ".join(sql.split()) for (sql,) in found)
    finally:
        connection.close()


def _model() -> dict[str, Any]:
    """Return the format of a model's folder: what it says of itself, and its arrays."""
    about = json.loads((SHIPPED / "model.json").read_text("utf-8"))
    return {
        **{name: value for name, value in about.items() if name in ("kind", "form", "systems")},
        "arrays": sorted(path.name for path in SHIPPED.glob("*.npy")),
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps(frozen(), indent=1, ensure_ascii=False) + "\n", "utf-8")
