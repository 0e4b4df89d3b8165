"""Simulates a week of nights with the recipe of docs/how-to/every-night.md and a clock that is set.

    python -m benchmarks.week [--folder FOLDER]

The program `faketime` sets the clock of every process (Debian: ``apt-get install faketime``). Each
night a few rows are appended to the table, `nightly.sh` runs at 02:15, and the service is another
process with another script of faults, or is down. Prints what each night bought, and compares the
books in the end.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

from benchmarks.command_line import parser_for
from benchmarks.texts import made_texts
from pipeline.money import plain, total
from pipeline.service.accounts import Accounts

ROOT = Path(__file__).parents[1]
RECIPE = ROOT / "docs" / "examples" / "every-night" / "nightly.sh"

MONDAY = date(2026, 11, 23)

SYSTEMS = "cpv,naics"

COLUMNS = "day | the night | rows | new | exit | answered | charged | job's USD | pending | alerts"

LOST = '[[fault]]\nkind = "drop-after"\nrequests = [7, 30]\n'
"""Two answers are billed and lost."""

REFUSED = '[[fault]]\nkind = "refuse"\nrequests = [5]\nseconds = 2\n'


@dataclass(frozen=True, slots=True)
class Night:
    """What is different in a night.

    Attributes:
        what: what happens.
        new_rows: how many rows the table gets before.
        faults: the script of the service's faults; None if the service is down.
    """

    what: str
    new_rows: int
    faults: str | None = ""


NIGHTS = (
    Night("the first table", 60),
    Night("new rows", 20),
    Night("the service is down", 20, faults=None),
    Night("it is back, two answers are lost", 20, faults=LOST),
    Night("many new rows: the limit of the day", 150),
    Night("the limit of the next day", 20),
    Night("the rest, and a refusal", 20, faults=REFUSED),
    Night("no new row", 0),
)


class Week:
    """A week in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shown = subprocess.run(
            ["faketime", "now", "env"], capture_output=True, text=True, check=True
        )
        # The program itself would not pass on signals.
        self._library = re.findall("^LD_PRELOAD=(.*)$", shown.stdout, re.MULTILINE)[0]
        self._port = _free_port()  # the same every night: calls are known by the URL
        self._texts = made_texts(sum(night.new_rows for night in NIGHTS), seed=7)
        self._rows: list[str] = []
        (folder / "bin").mkdir()
        program = folder / "bin" / "tender-pipeline"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m pipeline "$@"\n')
        program.chmod(0o755)
        with closing(Accounts(folder / "accounts")) as accounts:
            (folder / "key").write_text(accounts.open().key)

    def pass_by(self) -> Iterator[list[str]]:
        """Let the nights pass; yield the figures of each."""
        for number, night in enumerate(NIGHTS):
            day = MONDAY + timedelta(number)
            before = self._books()
            self._write(night, number)
            with self._serving(day, night):
                code = self._run(day)
            yield self._figures(day, night, code, before)

    def _write(self, night: Night, number: int) -> None:
        """Append rows to the table, among them one text that it has already."""
        new, self._texts = self._texts[: night.new_rows], self._texts[night.new_rows :]
        self._rows += [*new, *self._rows[:1]] if number and new else new
        with (self.folder / "tenders.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([["description"], *([row] for row in self._rows)])
        settings = {
            "base-url": f"http://127.0.0.1:{self._port}",
            "api-key-file": "key",
            "ledger": "ledger.db",
            "systems": SYSTEMS,
            "max-cost-per-day": "0.02",
            "rate": "6000/min",
            "metrics-file": "tenders.prom",
        }
        lines = [f"{name} = {json.dumps(value)}\n" for name, value in settings.items()]
        lines.append("partial = true\n")
        (self.folder / "tender-pipeline.toml").write_text("".join(lines), "utf-8")

    @contextmanager
    def _serving(self, day: date, night: Night) -> Iterator[None]:
        if night.faults is None:
            yield
            return
        faults = self.folder / "faults.toml"
        faults.write_text(f"seed = 1\n{night.faults}", "utf-8")
        arguments = ["serve", "--data", "accounts", "--port", str(self._port), "--rate", "6000/min"]
        if night.faults:
            arguments += ["--faults", "faults.toml"]
        command = [str(self.folder / "bin" / "tender-pipeline"), *arguments]
        with (
            (self.folder / "service.log").open("ab") as log,
            subprocess.Popen(
                command,
                cwd=self.folder,
                env=self._env(day, "02:00:00"),
                stdout=subprocess.PIPE,
                stderr=log,
            ) as process,
        ):
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith(b"Serving on "), line
            try:
                yield
            finally:
                process.terminate()  # else leaving the block would wait for it forever

    def _run(self, day: date) -> int:
        env = {**self._env(day, "02:15:00"), "TRIES": "2", "PAUSE": "1"}
        env["ALERT"] = "cat >> alerts.txt; echo >> alerts.txt"
        command = [str(RECIPE), str(self.folder)]
        return subprocess.run(command, env=env, check=False).returncode

    def _env(self, day: date, time: str) -> dict[str, str]:
        """Return the environment of a process that begins at this time."""
        return {
            **os.environ,
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "LD_PRELOAD": self._library,
            "FAKETIME": f"@{day} {time}",
            "NO_FAKE_STAT": "1",  # the times of files stay, on which SQLite and the caches rely
        }

    def _books(self) -> tuple[int, int]:
        """Return how many calls the ledger has answers to, and how many the service charged."""
        with closing(Accounts(self.folder / "accounts")) as accounts:
            charges = len(accounts.statement.charges())
        return sum(state == "answered" for _, state, _ in self._attempts()), charges

    def _attempts(self) -> list[tuple[tuple[str, bytes], str, str | None]]:
        """Return the ledger's attempts: the call, the state and the cost."""
        path = self.folder / "ledger.db"
        if not path.exists():
            return []
        with closing(sqlite3.connect(path)) as ledger:
            rows = ledger.execute("SELECT system, digest, state, cost_usd FROM attempts")
            return [((system, digest), state, cost) for system, digest, state, cost in rows]

    def _figures(self, day: date, night: Night, code: int, before: tuple[int, int]) -> list[str]:
        answered, charges = (now - then for now, then in zip(self._books(), before, strict=True))
        output = self.folder / ("codes.csv" if code in (0, 3) else "codes.partial.csv")
        statuses: Counter[str] = Counter()
        if output.exists():
            with output.open(encoding="utf-8", newline="") as file:
                statuses.update(row["cpv_status"] for row in csv.DictReader(file))
        manifest = json.loads(output.with_name(f"{output.name}.manifest.json").read_text("utf-8"))
        reports = list((self.folder / "reports").glob(f"{day}-*.html"))
        assert len(reports) == 1, "no report in the morning"
        metrics = (self.folder / "tenders.prom").read_text("utf-8")
        assert f'last_run_exit_code{{name="tenders"}} {code}\n' in metrics
        assert manifest["finished"].startswith(str(day)), "the clock is not set"
        alerts = self.folder / "alerts.txt"
        told = alerts.read_text("utf-8").count("tenders: exit code") if alerts.exists() else 0
        return [
            f"{day:%a}",
            night.what,
            str(len(self._rows)),
            str(night.new_rows),
            str(code),
            str(answered),
            str(charges),
            manifest["summary"]["cost_usd"],
            str(statuses["pending"]),
            str(told),
        ]

    def compare(self) -> str:
        """Compare the books of the week.

        Raises:
            AssertionError: they disagree, or something was bought twice without need.
        """
        attempts = self._attempts()
        answered = Counter(call for call, state, _ in attempts if state == "answered")
        lost = sum(state == "unconfirmed" for _, state, _ in attempts)
        confirmed = total(Decimal(cost) for *_, cost in attempts if cost is not None)
        with closing(Accounts(self.folder / "accounts")) as accounts:
            charged = [charge.price_usd for charge in accounts.statement.charges()]
        assert set(answered.values()) == {1}, "a call was answered twice"
        assert len(answered) == 2 * len(set(self._rows)), "a call has no answer"
        assert len(charged) == len(answered) + lost, "the service charged something else"
        self._verify("ledger", "verify", "--ledger", "ledger.db")
        self._verify("accounts", "verify", "--data", "accounts")
        usd = f"{plain(confirmed)} USD confirmed, {plain(total(charged))} charged"
        return f"{len(answered):,} calls answered once each, {lost} answers lost: {usd}"

    def _verify(self, *arguments: str) -> None:
        command = [str(self.folder / "bin" / "tender-pipeline"), *arguments]
        env = self._env(MONDAY + timedelta(len(NIGHTS)), "09:00:00")
        subprocess.run(command, cwd=self.folder, env=env, check=True, stdout=subprocess.DEVNULL)


def _free_port() -> int:
    """Return a free port that no outgoing connection takes while the service is down."""
    for port in range(20_000, 32_768):
        with socket.socket() as free, suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port
    raise OSError("No port from 20000 to 32767 is free.")


def main() -> None:
    """Simulate the week and print its figures."""
    parser = parser_for(__file__, __doc__)
    parser.add_argument("--folder", type=Path, help="Keep everything here, to look at it.")
    arguments = parser.parse_args()
    if shutil.which("faketime") is None:
        parser.error("faketime is not installed: apt-get install faketime")
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        week = Week(folder.resolve())
        print(COLUMNS)
        for figures in week.pass_by():
            print(" | ".join(figures), flush=True)
        print(week.compare())


if __name__ == "__main__":
    main()
