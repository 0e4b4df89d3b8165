"""A command starts fast, because it imports only what it uses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import click

from pipeline.cli.app import COMMANDS, app


def test_the_list_of_commands_needs_none_of_them_and_says_what_they_say() -> None:
    heavy = "{'pandas', 'pyarrow', 'numpy', 'scipy', 'httpx'} & set(sys.modules)"
    code = (
        f"import atexit, sys; atexit.register(lambda: print({heavy})); sys.argv[1:] = ['-h']\n"
        "from pipeline.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *shown, imported = done.stdout.splitlines()
    assert imported == "set()"
    width = max(map(len, COMMANDS)) + 2
    for name, said in COMMANDS.items():
        assert f"  {name:<{width}}{said}" in shown
        command = app.get_command(click.Context(app), name)
        assert command is not None
        assert command.short_help == said


IMPORTED = """
import contextlib, io, json, sys
from pipeline.cli import main

def run(*args):
    sys.argv[1:] = ["run", *args]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        main()
    return [*sys.modules]

helped = run("--help")
import pipeline.cli.many
started = [*sys.modules]
print(json.dumps([helped, started, run(SOURCE, "--systems", "naics", "--output", OUTPUT)]))
"""

NOT_FOR_HELP = {"numpy", "logging", "tempfile", "tomllib", "difflib", "hashlib", "html"}
NOT_FOR_THE_ENGINE = {"pandas", "scipy", "httpx", "asyncio", "ssl", "sqlite3", "jinja2"}
OF_OTHER_FORMATS = {"pyarrow.parquet", "pyarrow.fs", "pyarrow.compute"} | {
    f"pipeline.tables.{name}" for name in ("json_reader", "ocds", "xlsx_reader")
}


def test_a_run_imports_only_what_it_uses(tmp_path: Path) -> None:
    """Half of a short run is imports."""
    (tmp_path / "in.csv").write_text("description\nRoad works\n")
    places = {"SOURCE": str(tmp_path / "in.csv"), "OUTPUT": str(tmp_path / "out.csv")}
    code = "\n".join(f"{name} = {place!r}" for name, place in places.items()) + IMPORTED
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    helped, started, ran = map(set, json.loads(done.stdout))
    assert (tmp_path / "out.csv").exists()
    assert not helped & (NOT_FOR_HELP | NOT_FOR_THE_ENGINE)
    assert "pipeline.engine" in ran - started  # a purchase needs no engine
    assert not ran & (NOT_FOR_THE_ENGINE | OF_OTHER_FORMATS)
