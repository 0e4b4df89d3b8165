"""What people read of a script before the service starts, and of the record after it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from decimal import Decimal

from pipeline.money import plain, total
from pipeline.service.chaos.record import Served
from pipeline.service.chaos.script import Script

__all__ = ["announced", "outcomes"]


def announced(script: Script) -> str:
    """List the faults of a script."""
    faults = [f"  {fault}" for fault in script.fault] or ["  none"]
    return "\n".join([f"Faults, seed {script.seed}:", *faults])


def outcomes(requests: Iterable[Served]) -> str:
    """Count the requests, by fault."""
    by_fault: defaultdict[str, list[Served]] = defaultdict(list)
    for request in requests:
        by_fault[request.fault or "no fault"].append(request)
    everything = [request for some in by_fault.values() for request in some]
    lines = [f"{'':<24}{'requests':>10}{'billed':>10}{'USD':>14}"]
    lines += [_line(fault, by_fault[fault]) for fault in sorted(by_fault)]
    return "\n".join([*lines, _line("all", everything)])


def _line(name: str, requests: list[Served]) -> str:
    billed: list[Decimal] = [
        request.billed_usd for request in requests if request.billed_usd is not None
    ]
    return f"{name:<24}{len(requests):>10,}{len(billed):>10,}{plain(total(billed)):>14}"
