"""Runs a soak test: thousands of calls, every kind of fault, and a run that is killed repeatedly.

    python -m benchmarks.soak [--calls 20000] [--kills 30] [--rate 1000/10s] [--seed N]

A real run buys from a real service over HTTP, which drops, stalls, refuses and garbles by a script
that the seed decides; the run is killed at random instants and given again until the table is
complete. Then the service's record, the ledger and the output are compared to the last digit.
"""

from __future__ import annotations

import secrets
import tempfile
import time
from pathlib import Path

from benchmarks.command_line import parser_for
from benchmarks.local_service import DISK
from pipeline.rate import parse_rate
from tests.soak.night import Night, Plan
from tests.soak.verdict import lines, verdict


def main() -> None:
    """Run the soak test and print its figures."""
    parser = parser_for(__file__, __doc__)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--rate", default="1000/10s")
    parser.add_argument("--timeout", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000))
    parser.add_argument("--folder", type=Path, help="Keep everything here, to look at it.")
    arguments = parser.parse_args()
    rate = parse_rate(arguments.rate)
    if rate is None:
        parser.error("the soak needs a limit, to see it kept")
    plan = Plan(arguments.calls, arguments.kills, arguments.seed, rate, arguments.timeout)
    if plan.last_kill < plan.kills:
        parser.error("the kills need more calls, or a lower rate: give --calls or --rate")
    print(plan.command, flush=True)
    with tempfile.TemporaryDirectory(dir=DISK) as folder:
        night = Night(plan, arguments.folder or Path(folder))
        night.folder.mkdir(parents=True, exist_ok=True)
        started = time.monotonic()
        night.pass_by()
        seconds = time.monotonic() - started
        print(f"{len(night.exits)} runs, {len(night.kills)} killed, in {seconds:.0f} s", flush=True)
        print(lines(verdict(night)))


if __name__ == "__main__":
    main()
