"""Compares buying a table with this tool and with five scripts, on this machine.

    python -m benchmarks [--calls 4000] [--rounds 5] [--output outputs/benchmarks]
    python -m benchmarks --calls 10000 100000 --against "aiohttp, 50 tasks"

Every contender is a process of its own, measured from its start to its end: it reads a CSV file of
distinct texts, asks an unlimited service on this machine, and writes the table with codes and
prices. This tool also plans, and syncs every attempt and answer to its ledger, which is new each
time; the scripts have no protection at all. The contenders take turns, each round in another order.
Prints medians for each number of calls, and writes ``FOLDER-CALLS`` as JSON, as a page and as a
picture. Seconds depend on what else the machine does; the processor time of a row hardly does.
`benchmarks.engine_peers` compares the embedded engine in the same way.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.command_line import parser_for
from benchmarks.comparison import OURS, Turn, installed, machine, results, rounds_of, show, turn
from benchmarks.local_service import DISK, server
from benchmarks.peers import KEY, PEERS
from benchmarks.texts import made_texts, write_texts
from pipeline.paid.client.client import Interface
from pipeline.paid.client.urls import canonical


def _command(name: str, base: str, source: Path, output: Path) -> list[str]:
    if name != OURS:
        url = Interface().url(canonical(base), "cpv")
        return ["benchmarks.peers", name, url, str(source), str(output)]
    ledger = output.with_suffix(".db")
    options = ["--systems", "cpv", "--base-url", base, "--rate", "none", "--workers", "64"]
    files = ["--ledger", str(ledger), "--output", str(output), "--yes"]
    return ["pipeline", "run", str(source), *options, *files]


def _rounds(calls: int, rounds: int, against: Sequence[str]) -> list[dict[str, Turn]]:
    with tempfile.TemporaryDirectory(dir=DISK) as folder, server() as base:
        source = Path(folder) / "in.csv"
        write_texts(source, made_texts(calls))

        def take(name: str, number: int, place: int) -> Turn:
            output = Path(folder) / f"{number}-{place}.csv"
            command = _command(name, base, source, output)
            return turn(command, HOME=folder, TENDER_PIPELINE_API_KEY=KEY)

        needed = {name: PEERS[name].library for name in against}
        return rounds_of(installed(needed), rounds, take)


def main() -> None:
    """Measure, print and write."""
    parser = parser_for(__file__, __doc__)
    parser.add_argument("--calls", type=int, nargs="+", default=[4000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path, default=Path("outputs/benchmarks"))
    parser.add_argument("--against", nargs="*", choices=[*PEERS], default=[*PEERS], metavar="NAME")
    arguments = parser.parse_args()
    for calls in arguments.calls:
        found = results(_rounds(calls, arguments.rounds, arguments.against), calls)
        heading = (
            f"{calls:,} calls to a local service, medians of {arguments.rounds} rounds, {machine()}"
        )
        output = arguments.output.with_name(f"{arguments.output.name}-{calls}")
        show(found, "Rows bought a second", heading, output)


if __name__ == "__main__":
    main()
