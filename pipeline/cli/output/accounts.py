"""What the account commands print: tables for people, JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.cli.output.ledger import iso, table, utc
from pipeline.money import plain, total

if TYPE_CHECKING:  # its packages are an extra
    from pipeline.service.accounts import Account, ApiKey, DailyUse, Entry


DAYS = 30
"""Days up to today (UTC) that are counted."""


@dataclass(frozen=True, slots=True)
class Standing:
    """An account with its keys, the newest first, and its usage in the last `DAYS` days."""

    account: Account
    keys: Sequence[ApiKey]
    usage: Sequence[DailyUse]

    @property
    def keys_in_use(self) -> int:
        """The number of keys that are not revoked."""
        return sum(key.revoked_at is None for key in self.keys)

    @property
    def calls(self) -> int:
        """The number of charged calls."""
        return sum(use.calls for use in self.usage)

    @property
    def spent(self) -> str:
        """The cost of these calls, in US dollars."""
        return plain(total(use.usd for use in self.usage))


ACCOUNTS = {
    "account": "account",
    "email": "e-mail",
    "opened_at": "opened (UTC)",
    "keys_in_use": "keys in use",
    f"calls_{DAYS}_days": f"calls in {DAYS} days",
    f"spent_{DAYS}_days_usd": f"USD in {DAYS} days",
    "balance_usd": "balance USD",
}
KEYS = {
    "key": "key",
    "name": "name",
    "begins": "begins",
    "made_at": "made (UTC)",
    "used_at": "last used (UTC)",
    "revoked_at": "revoked (UTC)",
}
USAGE = {"day": "day (UTC)", "system": "system", "calls": "calls", "usd": "USD"}
ENTRIES = {
    "entry": "entry",
    "at": "time (UTC)",
    "kind": "kind",
    "system": "system",
    "key": "key",
    "note": "note",
    "amount_usd": "USD",
    "balance_usd": "balance USD",
}


def list_lines(standings: Sequence[Standing]) -> Iterator[str]:
    """Yield a table with a row for each account."""
    yield from table(map(list_figures, standings), ACCOUNTS, numbers=4)


def list_figures(standing: Standing) -> dict[str, Any]:
    """Return an account's row as JSON types: money as text, times in ISO 8601."""
    return {
        "account": standing.account.account_id,
        "email": standing.account.email,
        "opened_at": iso(standing.account.opened_at),
        "balance_usd": plain(standing.account.balance_usd),
        "keys_in_use": standing.keys_in_use,
        f"calls_{DAYS}_days": standing.calls,
        f"spent_{DAYS}_days_usd": standing.spent,
    }


def account_lines(standing: Standing, entries: Sequence[Entry]) -> Iterator[str]:
    """Yield an account with tables of its keys, its usage and its last entries."""
    account, found = standing.account, account_figures(standing, entries)
    yield f"account {account.account_id} {account.email or ''}".rstrip()
    yield f"opened {utc(account.opened_at)} UTC"
    yield f"balance {plain(account.balance_usd)} USD"
    yield ""
    keys = [{**key, "used_at": key["used_at"] or "never"} for key in found["keys"]]
    yield from table(keys, KEYS) if keys else ["no keys"]
    yield ""
    total = {"day": "total", "calls": standing.calls, "usd": standing.spent}
    usage = [*found["usage"], total] if found["usage"] else []
    none = [f"no calls in the last {DAYS} days"]
    yield from table(usage, USAGE, numbers=2) if usage else none
    yield ""
    yield from table(found["entries"], ENTRIES, numbers=2)


def account_figures(standing: Standing, entries: Sequence[Entry]) -> dict[str, Any]:
    """Return the contents of `account_lines` as JSON types."""
    return {
        **list_figures(standing),
        "keys": [_key_figures(key) for key in standing.keys],
        "usage": [_use_figures(use) for use in standing.usage],
        "entries": [_entry_figures(entry) for entry in entries],
    }


def _key_figures(key: ApiKey) -> dict[str, Any]:
    return {
        "key": key.key_id,
        "name": key.name,
        "begins": key.hint,
        "made_at": iso(key.made_at),
        "used_at": iso(key.used_at),
        "revoked_at": iso(key.revoked_at),
    }


def _use_figures(use: DailyUse) -> dict[str, Any]:
    return {
        "day": use.day.isoformat(),
        "system": use.system,
        "calls": use.calls,
        "usd": plain(use.usd),
    }


def _entry_figures(entry: Entry) -> dict[str, Any]:
    return {
        "entry": entry.entry_id,
        "at": iso(entry.at),
        "kind": entry.kind,
        "system": entry.system,
        "key": entry.key_id,
        "note": entry.note,
        "amount_usd": plain(entry.amount_usd),
        "balance_usd": plain(entry.balance_usd),
    }
