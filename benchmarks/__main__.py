"""Compares buying a table with this tool and with five scripts, on this machine.

    python -m benchmarks [--calls 4000] [--rounds 5] [--output outputs/benchmarks]

Every contender is a process of its own, measured from its start to its end: it reads a CSV file of
distinct texts, asks an unlimited service on this machine, and writes the table with codes and
prices. This tool also plans, and syncs every attempt and answer to its ledger, which is new each
time; the scripts have no protection at all. The contenders take turns, each round in another order.
Prints medians, and writes ``FOLDER.json`` and a page with a chart, ``FOLDER.html``. Seconds depend
on what else the machine does; the processor time of a row hardly does.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.buying_speed import DISK, server
from benchmarks.peers import KEY, PEERS
from benchmarks.texts import made_texts
from pipeline.charts import Bar, bars, environment
from pipeline.paid.client.urls import canonical, match_url

__all__ = ["OURS", "Result", "Turn", "order", "page", "results"]

OURS = "tender-pipeline"


@dataclass(frozen=True, slots=True)
class Turn:
    """One process: its duration and processor time in seconds, and its peak memory in MiB."""

    seconds: float
    cpu: float
    memory: float


@dataclass(frozen=True, slots=True)
class Result:
    """The medians of a contender.

    Attributes:
        rows_per_second: rows by the duration of the whole process.
        cpu_us: processor time of a row, microseconds.
        memory_mib: peak memory.
        ours_is: how many times as fast this tool was in the same round.
        lowest, highest: rows a second in the slowest and the fastest round.
    """

    rows_per_second: float
    cpu_us: float
    memory_mib: float
    ours_is: float
    lowest: float
    highest: float


def order(names: Sequence[str], round_number: int) -> list[str]:
    """Return the contenders in the order of a round: each begins one round in turn."""
    start = round_number % len(names)
    return [*names[start:], *names[:start]]


def results(rounds: Sequence[Mapping[str, Turn]], rows: int) -> dict[str, Result]:
    """Return the medians of each contender over the rounds."""
    found = {}
    for name in rounds[0]:
        turns = [turns[name] for turns in rounds]
        speeds = [rows / turn.seconds for turn in turns]
        found[name] = Result(
            rows_per_second=statistics.median(speeds),
            cpu_us=statistics.median(turn.cpu / rows * 1e6 for turn in turns),
            memory_mib=statistics.median(turn.memory for turn in turns),
            ours_is=statistics.median(
                turns[name].seconds / turns[OURS].seconds for turns in rounds
            ),
            lowest=min(speeds),
            highest=max(speeds),
        )
    return found


def page(found: Mapping[str, Result], heading: str) -> str:
    """Draw the results as an HTML page."""
    top = max(result.highest for result in found.values())
    groups = {name: [_bar(result, top, name == OURS)] for name, result in found.items()}
    words = "; ".join(
        f"{name}: {result.rows_per_second:,.0f} rows/s, {result.cpu_us:,.0f} µs of processor time"
        for name, result in found.items()
    )
    columns = ("rows/s", "CPU µs", "MiB")
    chart = bars(groups, columns, title="Rows a second", description=words)
    text = (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Benchmarks</title>'
        '<style>{% include "page.css" %}</style><h1>Rows a second</h1><p>{{ heading }}</p>'
        "{{ chart }}<p>A bar is the median, in percent of the fastest round of all; the line "
        "reaches from the slowest to the fastest round.</p></html>"
    )
    return environment("pipeline.charts").from_string(text).render(heading=heading, chart=chart)


def _bar(result: Result, top: float, ours: bool) -> Bar:
    share = result.rows_per_second / top
    texts = [f"{n:,.0f}" for n in (result.rows_per_second, result.cpu_us, result.memory_mib)]
    interval = result.lowest / top, result.highest / top
    return Bar("a" if ours else "b", [share] * 3, texts, interval)


def _turn(command: Sequence[str], folder: Path) -> Turn:
    """Run one process to its end."""
    environ = {**os.environ, "HOME": str(folder), "TENDER_PIPELINE_API_KEY": KEY}
    launcher = [sys.executable, "-I", "-S", str(Path(__file__).with_name("launcher.py"))]
    done = subprocess.run(
        [*launcher, sys.executable, "-m", *command],
        stdout=subprocess.PIPE,
        env=environ,
        cwd=Path(__file__).parents[1],
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed with {done.returncode}")
    seconds, cpu, kib = json.loads(done.stdout)
    return Turn(seconds, cpu, kib / 1024)


def _command(name: str, base: str, source: Path, output: Path) -> list[str]:
    if name != OURS:
        url = match_url(canonical(base), "cpv")
        return ["benchmarks.peers", name, url, str(source), str(output)]
    ledger = output.with_suffix(".db")
    options = ["--systems", "cpv", "--base-url", base, "--rate", "none", "--workers", "64"]
    files = ["--ledger", str(ledger), "--output", str(output), "--yes"]
    return ["pipeline", "run", str(source), *options, *files]


def _contenders() -> list[str]:
    """Return the contenders whose libraries are installed."""
    missing = {
        name: peer.library
        for name, peer in PEERS.items()
        if importlib.util.find_spec(peer.library) is None
    }
    for name, library in missing.items():
        print(f"{name} is left out: pip install {library}")
    return [OURS, *(name for name in PEERS if name not in missing)]


def _measured(calls: int, rounds: int) -> dict[str, Result]:
    names = _contenders()
    with tempfile.TemporaryDirectory(dir=DISK) as name, server() as base:
        folder = Path(name)
        source = folder / "in.csv"
        with source.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "description"])
            writer.writerows(enumerate(made_texts(calls)))
        turns: list[dict[str, Turn]] = []
        for number in range(rounds):
            took = {}
            for place, each in enumerate(order(names, number)):
                output = folder / f"{number}-{place}.csv"
                took[each] = _turn(_command(each, base, source, output), folder)
            turns.append({each: took[each] for each in names})
    return results(turns, calls)


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--calls", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path, default=Path("outputs/benchmarks"))
    arguments = parser.parse_args()
    found = _measured(arguments.calls, arguments.rounds)
    heading = (
        f"{arguments.calls:,} calls to a local service, medians of {arguments.rounds} rounds, "
        f"{os.cpu_count()} processors, {platform.machine()}, Python {platform.python_version()}"
    )
    print(f"{heading}\n{'':<22}{'rows/s':>8}{'CPU µs/row':>12}{'peak MiB':>10}{'ours is':>10}")
    for name, result in found.items():
        print(
            f"{name:<22}{result.rows_per_second:>8,.0f}{result.cpu_us:>12,.0f}"
            f"{result.memory_mib:>10,.0f}{result.ours_is:>8.2f} x"
        )
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    figures = {name: asdict(result) for name, result in found.items()}
    record = json.dumps({"heading": heading, "results": figures}, indent=2)
    arguments.output.with_suffix(".json").write_text(record + "\n", "utf-8")
    arguments.output.with_suffix(".html").write_text(page(found, heading), "utf-8")


if __name__ == "__main__":
    main()
