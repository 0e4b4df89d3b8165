"""What the account commands print: tables for people, JSON for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pipeline.cli.output.ledger import iso, table, utc
from pipeline.money import plain, total

if TYPE_CHECKING:  # its packages are an extra
    from pipeline.service.accounts import Account, ApiKey, DailyUse, Entry


DAYS = 30
"""Days up to today (UTC) that are counted."""


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


def list_figures(
    account: Account, keys: Sequence[ApiKey], usage: Sequence[DailyUse]
) -> dict[str, Any]:
    """Return an account's row, with its keys and its usage in the last `DAYS` days, as JSON types.

    Money is text, times are in ISO 8601.
    """
    return {
        "account": account.account_id,
        "email": account.email,
        "opened_at": iso(account.opened_at),
        "balance_usd": plain(account.balance_usd),
        "keys_in_use": sum(key.revoked_at is None for key in keys),
        f"calls_{DAYS}_days": sum(use.calls for use in usage),
        f"spent_{DAYS}_days_usd": plain(total(use.usd for use in usage)),
    }


def account_figures(
    account: Account,
    keys: Sequence[ApiKey],
    usage: Sequence[DailyUse],
    entries: Sequence[Entry],
) -> dict[str, Any]:
    """Return an account with its keys, its usage and its last entries as JSON types."""
    return {
        **list_figures(account, keys, usage),
        "keys": [_figures(key, KEYS) for key in keys],
        "usage": [_figures(use, USAGE) for use in usage],
        "entries": [_figures(entry, ENTRIES) for entry in entries],
    }


def account_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield the figures of an account, with tables of its keys, its usage and its last entries."""
    yield f"account {found['account']} {found['email'] or ''}".rstrip()
    yield f"opened {utc(found['opened_at'])} UTC"
    yield f"balance {found['balance_usd']} USD"
    yield ""
    keys = [{**key, "used_at": key["used_at"] or "never"} for key in found["keys"]]
    yield from table(keys, KEYS) if keys else ["no keys"]
    yield ""
    calls, spent = found[f"calls_{DAYS}_days"], found[f"spent_{DAYS}_days_usd"]
    usage = [*found["usage"], {"day": "total", "calls": calls, "usd": spent}]
    none = [f"no calls in the last {DAYS} days"]
    yield from table(usage, USAGE, numbers=2) if found["usage"] else none
    yield ""
    yield from table(found["entries"], ENTRIES, numbers=2)


FIELDS = {"key": "key_id", "entry": "entry_id", "begins": "hint"}
"""The fields of the service's records that the figures call otherwise."""


def _figures(record: object, names: Iterable[str]) -> dict[str, Any]:
    """Return some fields of a record of the service as JSON types."""
    return {name: _json_type(getattr(record, FIELDS.get(name, name))) for name in names}


def _json_type(value: Any) -> Any:
    match value:
        case Decimal():
            return plain(value)
        case date():
            return value.isoformat()
        case float():
            return iso(value)
    return value
