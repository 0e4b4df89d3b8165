"""What the account commands print: tables for people, JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.cli.output.ledger import iso, utc
from pipeline.money import plain, total
from pipeline.quoting import aligned

if TYPE_CHECKING:  # its packages are an extra
    from pipeline.service.accounts import Account, ApiKey, DailyUse, Entry

__all__ = ["DAYS", "Standing", "account_figures", "account_lines", "list_figures", "list_lines"]

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


def list_lines(standings: Sequence[Standing]) -> Iterator[str]:
    """Yield a table with a row for each account."""
    calls, spent = f"calls in {DAYS} days", f"USD in {DAYS} days"
    header = ["account", "e-mail", "opened (UTC)", "keys in use", calls, spent, "balance USD"]
    rows = [
        [
            f"{standing.account.account_id}",
            _shown(standing.account.email),
            utc(standing.account.opened_at),
            f"{standing.keys_in_use}",
            f"{standing.calls:,}",
            standing.spent,
            plain(standing.account.balance_usd),
        ]
        for standing in standings
    ]
    yield from aligned(header, rows, numbers=4)


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
    account = standing.account
    yield " ".join([f"account {account.account_id}", _shown(account.email)]).rstrip()
    yield f"opened {utc(account.opened_at)} UTC"
    yield f"balance {plain(account.balance_usd)} USD"
    yield ""
    yield from _key_lines(standing.keys)
    yield ""
    yield from _usage_lines(standing)
    yield ""
    yield from _entry_lines(entries)


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


def _key_lines(keys: Sequence[ApiKey]) -> Iterator[str]:
    if not keys:
        yield "no keys"
        return
    header = ["key", "name", "begins", "made (UTC)", "last used (UTC)", "revoked (UTC)"]
    rows = [
        [
            f"{key.key_id}",
            _shown(key.name),
            key.hint,
            utc(key.made_at),
            utc(key.used_at) or "never",
            utc(key.revoked_at),
        ]
        for key in keys
    ]
    yield from aligned(header, rows)


def _usage_lines(standing: Standing) -> Iterator[str]:
    if not standing.usage:
        yield f"no calls in the last {DAYS} days"
        return
    rows = [
        [use.day.isoformat(), use.system, f"{use.calls:,}", plain(use.usd)]
        for use in standing.usage
    ]
    rows.append(["total", "", f"{standing.calls:,}", standing.spent])
    yield from aligned(["day (UTC)", "system", "calls", "USD"], rows, numbers=2)


def _entry_lines(entries: Sequence[Entry]) -> Iterator[str]:
    header = ["entry", "time (UTC)", "kind", "system", "key", "note", "USD", "balance USD"]
    rows = [
        [
            f"{entry.entry_id}",
            utc(entry.at),
            entry.kind,
            entry.system or "",
            "" if entry.key_id is None else f"{entry.key_id}",
            _shown(entry.note),
            plain(entry.amount_usd),
            plain(entry.balance_usd),
        ]
        for entry in entries
    ]
    yield from aligned(header, rows, numbers=2)


def _shown(text: str | None) -> str:
    """Return text that users typed, without control characters for the terminal."""
    return "".join(one if one.isprintable() else " " for one in text or "").strip()
