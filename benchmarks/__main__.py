"""Compares buying a table with this tool and with five scripts, on this machine.

    python -m benchmarks [--calls 4000] [--rounds 5] [--output outputs/benchmarks]

Every contender is a process of its own, measured from its start to its end: it reads a CSV file of
distinct texts, asks an unlimited service on this machine, and writes the table with codes and
prices. This tool also plans, and syncs every attempt and answer to its ledger, which is new each
time; the scripts have no protection at all. The contenders take turns, each round in another order.
Prints medians, and writes ``FOLDER.json``, a page with a chart, ``FOLDER.html``, and the chart
alone, ``FOLDER.svg``. Seconds depend on what else the machine does; the processor time of a row
hardly does. `benchmarks.engine_peers` compares the embedded engine in the same way.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.comparison import OURS, Turn, installed, machine, results, rounds_of, show, turn
from benchmarks.local_service import DISK, server
from benchmarks.peers import KEY, PEERS
from benchmarks.texts import made_texts, write_texts
from pipeline.paid.client.urls import canonical, match_url


def _command(name: str, base: str, source: Path, output: Path) -> list[str]:
    if name != OURS:
        url = match_url(canonical(base), "cpv")
        return ["benchmarks.peers", name, url, str(source), str(output)]
    ledger = output.with_suffix(".db")
    options = ["--systems", "cpv", "--base-url", base, "--rate", "none", "--workers", "64"]
    files = ["--ledger", str(ledger), "--output", str(output), "--yes"]
    return ["pipeline", "run", str(source), *options, *files]


def _rounds(calls: int, rounds: int) -> list[dict[str, Turn]]:
    with tempfile.TemporaryDirectory(dir=DISK) as folder, server() as base:
        source = Path(folder) / "in.csv"
        write_texts(source, made_texts(calls))

        def take(name: str, number: int, place: int) -> Turn:
            output = Path(folder) / f"{number}-{place}.csv"
            command = _command(name, base, source, output)
            return turn(command, HOME=folder, TENDER_PIPELINE_API_KEY=KEY)

        needed = {name: peer.library for name, peer in PEERS.items()}
        return rounds_of(installed(needed), rounds, take)


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
    found = results(_rounds(arguments.calls, arguments.rounds), arguments.calls)
    heading = (
        f"{arguments.calls:,} calls to a local service, medians of {arguments.rounds} rounds, "
        f"{machine()}"
    )
    show(found, "Rows bought a second", heading, arguments.output)


if __name__ == "__main__":
    main()
