"""What a purchase prints: its estimate, the question whether to buy, and its progress."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate

from pipeline.cli.output.console import ask, notice, on_terminal, progress_display
from pipeline.files.paths import AnyPath
from pipeline.paid.purchase import PaidBuyer
from pipeline.paid.service import PaidService
from pipeline.purchases import Estimate
from pipeline.wording import how_many


def buyer_of(service: PaidService, sure: bool) -> PaidBuyer:
    """Return a buyer that prints the estimate before it buys.

    On a terminal it asks, unless the user is sure (``--yes``) or the cost has a limit.
    """

    def confirm(estimate: Estimate) -> bool:
        if sure or service.has_cost_limit or not on_terminal():
            notice(describe(service, estimate))
            return True
        return ask(f"{describe(service, estimate)}\nBuy?")

    return PaidBuyer(service, progress_display(), confirm)


def describe(service: PaidService, estimate: Estimate) -> str:
    """Return a purchase's cost and duration, its limits and its ledger."""
    return f"{estimate}; ledger {service.ledger}"


def describe_files(
    service: PaidService, files: Mapping[AnyPath, Estimate], whole: Estimate
) -> Iterator[str]:
    """Yield what the purchase of each file would take, and that of all of them."""
    up_to = list(accumulate(files.values(), Estimate.then))
    may_stop = next((number for number, so_far in enumerate(up_to) if not so_far.fits), None)
    for number, (path, estimate) in enumerate(files.items()):
        if estimate.to_buy:
            stop = "; the run may stop here" if number == may_stop else ""
            yield f"{path}: {estimate.calls}{stop}"
    takes = f"at most {how_many(whole.to_buy, 'call')} to buy: {whole.takes}"
    once = "a text in several files is bought once"
    offer = f"{takes} ({service.allowed})"
    yield "; ".join(filter(None, (offer, once, whole.limits, f"ledger {service.ledger}")))
