"""What must be true between an account's statement, the ledger of who pays it, and the output.

Like the checks of the service's record: each returns its complaints, to the last digit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import pairwise

from pipeline.answers import SYSTEMS, System
from pipeline.money import ZERO, plain, total
from pipeline.service.accounts import Entry
from tests.money_trail.books import Attempt, Output


def statement_adds_up(entries: Sequence[Entry], balance: Decimal) -> list[str]:
    """Each entry's balance is the one before and its amount, never below zero; the last is left.

    Args:
        entries: all of one account, the oldest first.
        balance: what the account has left.
    """
    complaints = [
        f"entry {later.entry_id}: {earlier.balance_usd} and {later.amount_usd} "
        f"are not {later.balance_usd}"
        for earlier, later in pairwise(entries)
        if total([earlier.balance_usd, later.amount_usd]) != later.balance_usd
    ]
    complaints += [
        f"entry {entry.entry_id}: the balance is {entry.balance_usd}"
        for entry in entries
        if entry.balance_usd < ZERO
    ]
    first, last = entries[0], entries[-1]
    if (first.kind, first.amount_usd) != ("opening", first.balance_usd):
        complaints.append(f"the statement begins with {first}")
    if last.balance_usd != balance:
        complaints.append(f"the statement ends with {last.balance_usd}, {balance} is left")
    return complaints


def statement_is_the_ledgers(entries: Iterable[Entry], attempts: Sequence[Attempt]) -> list[str]:
    """The account was charged every price that the ledger has confirmed, and nothing besides.

    What else was charged can only be the price of attempts whose answer was lost.
    """
    charged = Counter[tuple[str, Decimal]](
        (one.system, one.price_usd) for one in entries if one.system is not None
    )
    confirmed = Counter[tuple[str, Decimal]](
        (one.system, one.cost_usd) for one in attempts if one.cost_usd
    )
    complaints = [
        f"{count} {system} calls for {usd} USD are in the ledger and were not charged"
        for (system, usd), count in (confirmed - charged).items()
    ]
    besides = charged - confirmed
    for system in SYSTEMS:
        lost = [one.reserved_usd for one in attempts if one.system == system and one.unconfirmed]
        usd = [price for of, price in besides.elements() if of == system]
        if len(usd) > len(lost) or any(price > max(lost) for price in usd):
            complaints.append(
                f"{system} charges of {[*map(plain, usd)]} USD are not in the ledger, "
                f"where {len(lost)} answers were lost"
            )
    return complaints


def columns_agree(attempts: Sequence[Attempt], output: Output) -> list[str]:
    """Each system's column and figure are what its attempts cost; what has no row is left out.

    What stands as unattributed is of no system, so the columns may lack as much together.
    """
    unattributed = Decimal(output.summary["paid"]["unattributed_usd"])
    complaints, lacking = [], list[Decimal]()
    for system in SYSTEMS:
        confirmed = _confirmed(attempts, system)
        column = total(Decimal(row[f"{system}_cost_usd"] or 0) for row in output.rows)
        figure = Decimal(output.summary["systems"][system]["cost_usd"])
        lacking.append(total([confirmed, -column]))
        if column != figure or lacking[-1] < ZERO:
            complaints.append(
                f"{system}: {column} in the column, {figure} in the summary, {confirmed} paid"
            )
    if total(lacking) != unattributed:
        complaints.append(f"the columns lack {total(lacking)}, {unattributed} is unattributed")
    return complaints


def _confirmed(attempts: Iterable[Attempt], system: System) -> Decimal:
    return total(
        one.cost_usd for one in attempts if one.system == system and one.cost_usd is not None
    )
