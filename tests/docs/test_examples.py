"""The recipes for every night do what their page says: they retry, alert, and keep a report."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from pipeline.answers import OK_FROM
from pipeline.cli.app import app
from pipeline.settings import parse_systems
from tests.docs.pages import DOCS, ROOT, page, parse, rows

EXAMPLES = DOCS / "examples" / "every-night"

COMMAND = re.compile(r"^[^#\n]*?tender-pipeline (run .*?)(?: > .*| \|\| .*|'|)$", re.MULTILINE)


def commands(name: str) -> list[list[str]]:
    text = (EXAMPLES / name).read_text("utf-8").replace("\\\n", " ")
    return [shlex.split(found) for found in COMMAND.findall(text)]


@pytest.mark.parametrize("name", ["nightly.sh", "tenders-nightly.service", "tenders-nightly.yml"])
def test_every_command_of_a_recipe_is_understood(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tender-pipeline.toml").touch()
    (arguments,) = commands(name)
    assert {"--output", "--report"} <= set(arguments)
    parse(app, arguments, None)


def test_every_recipe_says_which_codes_a_person_checks() -> None:
    """Otherwise all codes of a paid service are `ok`, and no row counts as one to check."""
    settings = tomllib.loads((EXAMPLES / "tender-pipeline.toml").read_text("utf-8"))
    (arguments,) = commands("tenders-nightly.yml")
    stated = arguments[arguments.index("--min-confidence") + 1]
    for systems, least in (
        (settings["systems"], settings["min-confidence"]),
        (arguments[arguments.index("--systems") + 1], float(stated)),
    ):
        assert least == max(OK_FROM[name] for name in parse_systems(systems))


def test_the_settings_with_a_language_model_are_a_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (EXAMPLES / "tender-pipeline.toml").read_text("utf-8")
    text, lines = re.subn(r"^# ([a-z-]+ = )", r"\1", text, flags=re.MULTILINE)
    assert lines == 2
    Path("night.toml").write_text(text, "utf-8")
    Path("key").write_text("sk-1")
    Path("t.csv").write_text("description\nRoad works\n")
    here = ["--config", "night.toml", "--api-key-file", "key", "--ledger", "ledger.db", "--json"]
    done = CliRunner().invoke(app, ["plan", "t.csv", *here], standalone_mode=False)
    assert done.exception is None
    assert json.loads(done.stdout)["calls_to_buy"] == len(
        parse_systems(tomllib.loads(text)["systems"])
    )


def test_the_page_shows_every_file() -> None:
    text = page("how-to/every-night")
    shown = re.findall(r"literalinclude\} \.\./examples/every-night/(\S+)", text)
    assert sorted(shown) == sorted(path.name for path in EXAMPLES.iterdir() if path.is_file())


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd")
def test_systemd_takes_the_units(tmp_path: Path) -> None:
    for path in [*EXAMPLES.glob("*.service"), *EXAMPLES.glob("*.timer")]:
        shutil.copy(path, tmp_path / path.name.replace("@", "@x"))
        shutil.copy(path, tmp_path)
    units = ["tenders-nightly.service", "tenders-nightly.timer", "tenders-alert@x.service"]
    done = subprocess.run(
        ["systemd-analyze", "verify", *(tmp_path / unit for unit in units)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_systemd_tries_again_what_may_succeed_later() -> None:
    unit = (EXAMPLES / "tenders-nightly.service").read_text("utf-8")
    listed = re.findall(r"^(?:RestartPrevent|Success)ExitStatus=(.*)$", unit, re.MULTILINE)
    final = {int(code) for codes in listed for code in codes.split()}
    every = {int(cells[0]) for cells in rows(page("reference/exit-codes"), "exit code")}
    assert every - final == {0, 6, 7}


SAID = ("a summary", "a line of the log")


class Nights:
    """Runs `nightly.sh` with a program that exits with the codes of a list, one after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "bin").mkdir()
        program = folder / "bin" / "tender-pipeline"
        program.write_text(
            '#!/bin/sh\necho "$@" >> arguments\necho a summary\necho a line of the log >&2\n'
            'code=$(head -n 1 codes)\nsed -i 1d codes\nexit "$code"\n'
        )
        program.chmod(0o755)

    def run(self, codes: Sequence[int], tries: int = 3) -> int:
        (self.folder / "codes").write_text("".join(f"{code}\n" for code in codes))
        env = {"PATH": f"{self.folder}/bin:/usr/bin:/bin", "TRIES": str(tries), "PAUSE": "0"}
        command = ["sh", str(EXAMPLES / "nightly.sh"), str(self.folder)]
        env["ALERT"] = "cat > alert"
        return subprocess.run(command, env=env, check=False).returncode

    @property
    def left(self) -> str:
        return (self.folder / "codes").read_text()

    @property
    def alert(self) -> str:
        path = self.folder / "alert"
        return path.read_text() if path.exists() else ""


@pytest.mark.parametrize(
    ("codes", "code", "alerted"),
    [
        ([0], 0, False),
        ([3], 3, False),
        ([6, 7, 0], 0, False),
        ([6, 6, 6], 6, True),
        ([7, 5], 5, True),
        ([4], 4, True),
        ([143], 143, True),
    ],
)
def test_the_script_retries_what_may_succeed_later_and_alerts_for_the_rest(
    tmp_path: Path, codes: list[int], code: int, alerted: bool
) -> None:
    nights = Nights(tmp_path)
    assert nights.run(codes) == code
    assert nights.left == ""
    assert bool(nights.alert) == alerted
    if alerted:
        assert nights.alert.splitlines() == [
            f"tenders failed in {tmp_path}",
            *SAID,
            f"exit code {code}",
        ]
    (log,) = (tmp_path / "reports").glob("*.log")
    assert log.read_text().splitlines() == [
        line for each in codes for line in (*SAID, f"exit code {each}")
    ]


def test_a_folder_that_is_full_does_not_hide_the_reason(tmp_path: Path) -> None:
    nights = Nights(tmp_path)
    clock = tmp_path / "bin" / "date"
    clock.write_text("#!/bin/sh\necho night\n")
    clock.chmod(0o755)
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "night.log").symlink_to("/dev/full")
    assert nights.run([6, 2]) == 2
    assert nights.alert.splitlines() == [f"tenders failed in {tmp_path}", *SAID, "exit code 2"]


def test_a_second_start_on_a_day_keeps_the_files_of_the_first(tmp_path: Path) -> None:
    nights = Nights(tmp_path)
    clock = tmp_path / "bin" / "date"
    times = ("021500", "093000")
    for time, code in zip(times, (0, 4), strict=True):
        clock.write_text(f'#!/bin/sh\necho "$1" | sed "s/+%F/2026-01-31/; s/%H%M%S/{time}/"\n')
        clock.chmod(0o755)
        assert nights.run([code]) == code
    kept = sorted(path.name for path in (tmp_path / "reports").iterdir())
    assert kept == [f"2026-01-31-{time}.log" for time in times]
    assert nights.alert.splitlines() == [f"tenders failed in {tmp_path}", *SAID, "exit code 4"]


@pytest.mark.parametrize("name", ["nightly.sh", "tenders-nightly.service", "tenders_nightly.py"])
def test_each_start_has_a_report_with_its_time_in_the_name(name: str) -> None:
    text = (EXAMPLES / name).read_text("utf-8").replace("%%", "%")
    assert re.search(r"(%F|%Y-%m-%d)-%H%M%S", text)


def test_a_folder_that_cannot_be_used_ends_the_script_and_alerts(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "nowhere", tmp_path / "file"):
        done = subprocess.run(
            ["sh", str(EXAMPLES / "nightly.sh"), str(folder)],
            capture_output=True,
            env={"PATH": "/usr/bin:/bin", "ALERT": "cat"},
            check=False,
        )
        assert done.returncode == 2
        assert f"the folder {folder} is missing, read-only or full" in done.stdout.decode()


def test_the_container_copies_what_there_is() -> None:
    text = (EXAMPLES / "Containerfile").read_text("utf-8")
    lines = re.findall(r"^COPY (?!--)(.*) \S+$", text, re.MULTILINE)
    copied = [path for line in lines for path in line.split()]
    assert {"pyproject.toml", "pipeline"} <= set(copied)
    assert [path for path in copied if not (ROOT / path).exists()] == []
