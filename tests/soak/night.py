"""A bad night: a real run against a real service with faults, killed and started again."""

from __future__ import annotations

import csv
import os
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from benchmarks.texts import made_texts
from pipeline.answers import SYSTEMS
from pipeline.rate import Rate
from pipeline.service.chaos.faults import Script
from pipeline.service.chaos.record import Record
from tests.forking import Process
from tests.service.processes import key_in, serving
from tests.soak.script import soak_script

COMPLETE = (0, 3)
PARKED = (5, 6, 7, 8)
KILLED = -signal.SIGKILL

POLL_S = 0.01


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to happen in a night.

    Attributes:
        calls: distinct calls of the table; a multiple of four, as every text goes to all systems.
        kills: how often the run is killed.
        seed: decides on the faults, the table and the kills.
        rate: the limit, on both sides.
        timeout: how long an attempt may take, seconds; the faults outlast it, and what stalls is
            worked off within a further window.
    """

    calls: int
    kills: int
    seed: int
    rate: Rate
    timeout: float

    @property
    def command(self) -> str:
        """What repeats it by hand."""
        return (
            f"python -m benchmarks.soak --calls {self.calls} --kills {self.kills} "
            f"--rate {self.rate} --timeout {self.timeout:g} --seed {self.seed}"
        )

    @property
    def last_kill(self) -> int:
        """The calls before the last kill, at most; a later one might meet a table that is done."""
        return int(0.95 * self.calls) - self.rate.slots  # a whole window is left behind it

    def script(self) -> Script:
        """Return the faults."""
        return soak_script(self.seed, self.calls, self.timeout, self.rate)


@dataclass
class Night:
    """One night in a folder of its own.

    Attributes:
        plan: what is to happen.
        folder: where everything is.
        kills: when the run was killed, seconds since 1970.
        exits: how each run ended.
        outputs: the complete tables, one of each job.
    """

    plan: Plan
    folder: Path
    kills: list[float] = field(default_factory=list)
    exits: list[int] = field(default_factory=list)
    outputs: list[Path] = field(default_factory=list)
    _key: str = field(default="", repr=False)

    @property
    def source(self) -> Path:
        """The table."""
        return self.folder / "tenders.csv"

    @property
    def _out(self) -> Path:
        return self.folder / "out.csv"

    @property
    def ledger(self) -> Path:
        """The ledger."""
        return self.folder / "ledger.db"

    @property
    def service(self) -> Path:
        """The folder of the service."""
        return self.folder / "service"

    def pass_by(self) -> None:
        """Let it happen, until the table is complete, and complete once more.

        A job that left out a system is followed by another one. The last job finds every answer
        in the ledger and buys only what failed before; what was lost too often stays held.

        Raises:
            AssertionError: a run ended as none may, or never completed.
        """
        write_table(self.source, self.plan)
        chance = Random(f"kills/{self.plan.seed}")
        due = sorted(chance.sample(range(self.plan.last_kill), self.plan.kills))
        with self._serving() as address, closing(Record(self.service)) as record:
            whole = 0
            while whole < 2:
                self._complete(address, record, due, chance)
                self.outputs.append(self.folder / f"out-{len(self.outputs)}.csv")
                self._out.rename(self.outputs[-1])
                _manifest(self._out).rename(_manifest(self.outputs[-1]))
                whole += "left out of this run" not in self.last_words()

    def _complete(self, address: str, record: Record, due: Sequence[int], chance: Random) -> None:
        """Give the same command until the table is complete; kill it whenever that is due."""
        complete = False
        while not complete:
            assert len(self.exits) < 50 + 3 * self.plan.kills, Counter(self.exits)
            left = due[len(self.kills) :]
            with self._running(address) as process:
                if left:
                    self._kill(process, record, left[0], chance.uniform(0, 0.5))
                self.exits.append(process.wait())
            complete = self.exits[-1] in COMPLETE
            assert complete or self.exits[-1] in (*PARKED, KILLED), self.last_words()

    def last_words(self) -> str:
        """Return what the last run said."""
        return self._said(len(self.exits) - 1).read_text("utf-8")

    def said(self) -> Iterator[tuple[str, str]]:
        """Yield what each run said and what the service did, with the names of the files."""
        for path in (*map(self._said, range(len(self.exits))), self._log):
            yield path.name, path.read_text("utf-8")

    @property
    def _ended(self) -> range:
        """The numbers of the runs so far."""
        return range(len(self.exits))

    @property
    def _log(self) -> Path:
        return self.folder / "service.log"

    def _said(self, run: int) -> Path:
        return self.folder / f"run-{run:03}.txt"

    def _kill(self, process: Process, record: Record, due: int, pause: float) -> None:
        """Kill a run some time after the service got so many requests, if it is still there."""
        while record.last() < due:
            if process.poll() is not None:
                return
            time.sleep(POLL_S)
        try:
            process.wait(pause)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            self.kills.append(time.time())  # what it sent last was sent before this

    @contextmanager
    def _running(self, address: str) -> Iterator[Process]:
        """Start the run: always the same command, and nothing but the limit slows it."""
        options = {
            "--output": self._out,
            "--base-url": address,
            "--ledger": self.ledger,
            "--rate": self.plan.rate,
        }
        if any("raise --max-price" in self._said(run).read_text("utf-8") for run in self._ended):
            options["--max-price"] = "10000000"  # as the message says, once the price is right
        settings = {
            "TENDER_PIPELINE_BURST": "true",
            "TENDER_PIPELINE_TIMEOUT": f"{self.plan.timeout:g}s",
        }
        flat = [str(part) for option in options.items() for part in option]
        with (
            self._said(len(self.exits)).open("wb") as said,
            Process(
                ["run", str(self.source), *flat],
                stdout=said,
                stderr=said,
                env={**os.environ, **settings, "TENDER_PIPELINE_API_KEY": self._key},
            ) as process,
        ):
            try:
                yield process
            finally:
                process.kill()

    @contextmanager
    def _serving(self) -> Iterator[str]:
        """Run the service on a free port."""
        faults = self.folder / "night.toml"
        faults.write_text(toml(self.plan.script()), "utf-8")
        self._key = key_in(self.service)
        limit = ["--rate", self.plan.rate, "--metadata", "mixed"]
        with serving(self.service, *limit, "--faults", faults) as server:
            yield server.address
            server.ended(signal.SIGTERM)
            assert server.process.returncode == 0


def _manifest(output: Path) -> Path:
    return output.with_name(f"{output.name}.manifest.json")


def write_table(path: Path, plan: Plan) -> None:
    """Write a table with so many distinct texts; some are in many rows, some rows have none."""
    chance = Random(f"table/{plan.seed}")
    texts = made_texts(plan.calls // len(SYSTEMS), plan.seed)
    rows = [*texts, *chance.choices(texts, k=len(texts) // 4), *[""] * (len(texts) // 20)]
    chance.shuffle(rows)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "description", "note"])
        writer.writerows((f"{row:07}", text, "NA") for row, text in enumerate(rows))


def toml(script: Script) -> str:
    """Write a script as the file that says it."""
    lines = [f"seed = {script.seed}"]
    for fault in script.fault:
        lines += ["", "[[fault]]", f'kind = "{fault.kind}"']
        lines += [f"{name} = {_value(value)}" for name, value in fault.changed().items()]
    return "\n".join(lines) + "\n"


def _value(value: object) -> str:
    text = (
        f'"{value}"'
        if isinstance(value, str)
        else str(list(value) if isinstance(value, tuple) else value)
    )
    return re.sub("True|False", lambda word: word[0].lower(), text)
