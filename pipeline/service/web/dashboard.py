"""The pages of an account: its balance and usage, its keys, and its statement."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal

from starlette.responses import Response, StreamingResponse

from pipeline.answers import SYSTEMS, System
from pipeline.errors import SettingsError
from pipeline.money import total
from pipeline.service.accounts import ApiKey, DailyUse, row_number, statement_csv
from pipeline.service.web.browsers import FormError, PageError
from pipeline.service.web.rendering import render
from pipeline.service.web.site import HOME, Site, Visitor, redirect

MOST = 50
"""Entries on one page."""


def show_statement(site: Site, visitor: Visitor) -> Response:
    """Show one page of the statement, the newest entries first."""
    before = row_number(visitor.request.query_params.get("before", ""))
    entries = site.accounts.statement.entries(visitor.member, MOST + 1, before)
    return render(
        visitor,
        "statement.html",
        account=site.accounts.account(visitor.member),
        entries=entries[:MOST],
        older=entries[MOST - 1].entry_id if len(entries) > MOST else None,
        newest=before is None,
        names={key.key_id: key.name for key in site.accounts.keys.of(visitor.member)},
    )


def download_statement(site: Site, visitor: Visitor) -> Response:
    """Stream the whole statement as CSV, the oldest entries first."""
    name = f"statement-{visitor.member}-{site.accounts.today().isoformat()}.csv"
    statement, keys = site.accounts.statement, site.accounts.keys
    return StreamingResponse(
        statement_csv(statement.each(visitor.member), keys.of(visitor.member)),
        media_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


DAYS = 30


def show(site: Site, visitor: Visitor) -> Response:
    """Show an account, with the form to make a key."""
    account = site.accounts.account(visitor.member)
    keys = site.accounts.keys.of(account.account_id)
    usage = site.accounts.statement.usage(account.account_id, DAYS)
    return render(
        visitor,
        "dashboard.html",
        account=account,
        keys=[key for key in keys if key.revoked_at is None],
        revoked=[key for key in keys if key.revoked_at is not None],
        days=DAYS,
        usage=_by_day(usage),
        systems=SYSTEMS,
        made={one: sum(use.calls for use in usage if use.system == one) for one in SYSTEMS},
        spent=total(use.usd for use in usage),
    )


def _by_day(uses: Sequence[DailyUse]) -> list[tuple[date, dict[System, int], Decimal]]:
    """Return the calls of each day by system, and their cost, the last day first."""
    days: dict[date, list[DailyUse]] = {}
    for use in uses:
        days.setdefault(use.day, []).append(use)
    return [
        (day, {use.system: use.calls for use in some}, total(use.usd for use in some))
        for day, some in reversed(days.items())
    ]


NOT_YOURS = "Your account has no such key in use. The dashboard lists your keys."


def make_key(site: Site, visitor: Visitor) -> Response:
    """Make a key and show it."""
    try:
        new = site.accounts.keys.make(visitor.member, visitor.form.value("name"))
    except SettingsError as error:
        raise FormError({"name": str(error)}) from error
    key = _find(site, visitor, new.key_id)
    return render(visitor, "key_made.html", key=key, secret=new.key)


def ask_key(site: Site, visitor: Visitor) -> Response:
    """Ask to confirm that a key is revoked."""
    return render(visitor, "key_asked.html", key=_find(site, visitor, _number(visitor)))


def revoke_key(site: Site, visitor: Visitor) -> Response:
    """Revoke a key."""
    if not site.accounts.keys.revoke(visitor.member, _number(visitor)):
        raise PageError(404, NOT_YOURS)
    return redirect(f"{HOME}?done=revoked", visitor)


def _find(site: Site, visitor: Visitor, key_id: int) -> ApiKey:
    for key in site.accounts.keys.of(visitor.member):
        if key.key_id == key_id and key.revoked_at is None:
            return key
    raise PageError(404, NOT_YOURS)


def _number(visitor: Visitor) -> int:
    return row_number(visitor.request.path_params["key_id"]) or 0  # which no key has
