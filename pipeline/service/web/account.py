"""The pages of an account: signing up and in, its password, its usage and keys, its statement."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from pipeline.answers import SYSTEMS, System
from pipeline.errors import SettingsError
from pipeline.money import total
from pipeline.service.accounts import STARTING_BALANCE, ApiKey, DailyUse, row_number, statement_csv
from pipeline.service.accounts.keys import SHORTEST, password_error
from pipeline.service.web.browsers import FormError, PageError, check
from pipeline.service.web.rendering import render
from pipeline.service.web.site import HOME, Site, Visitor, redirect, safe_path

NO_EMAIL, NO_PASSWORD = "Enter your e-mail address.", "Enter your password."


def show_log_in(_: Site, visitor: Visitor) -> Response:
    """Show the login form, or go on if the visitor is logged in."""
    form, asked = visitor.form, visitor.request.query_params.get("next", "")
    next_path = safe_path(form.value("next") or asked)
    if visitor.account_id is not None and not form.errors:
        return redirect(next_path, visitor)
    return render(visitor, "login.html", next=next_path)


async def log_in(site: Site, visitor: Visitor) -> Response:
    """Begin a session if the password is right."""
    form = visitor.form
    email, password = form.value("email"), form.value("password")
    check(email="" if email.strip() else NO_EMAIL, password="" if password else NO_PASSWORD)
    account = await site.account_of(visitor, email, password)
    if account is None:
        raise FormError({"": "The e-mail address or the password is wrong."})
    next_path = safe_path(form.value("next"))
    return await run_in_threadpool(_begin_session, site, visitor, account, next_path)


def show_sign_up(_: Site, visitor: Visitor) -> Response:
    """Show the form to open an account."""
    if visitor.session is not None and not visitor.form.errors:
        return redirect(HOME, visitor)
    return render(visitor, "signup.html", shortest=SHORTEST, starting_balance=STARTING_BALANCE)


async def sign_up(site: Site, visitor: Visitor) -> Response:
    """Open an account and begin a session."""
    email, password = visitor.form.value("email"), visitor.form.value("password")
    check(email="" if email.strip() else NO_EMAIL, password=_password_error(password))
    site.count_sign_up(visitor)
    try:
        account = await site.hashing(site.accounts.sign_up, email, password)
    except SettingsError as error:  # about the address: the password was checked above
        raise FormError({"email": str(error)}) from error
    return await run_in_threadpool(_begin_session, site, visitor, account, HOME)


def log_out(site: Site, visitor: Visitor) -> Response:
    """End the session, here and in the browser, and say so beside the login form."""
    if visitor.session is not None:
        site.accounts.sessions.end(visitor.session)
        visitor.end()
    return redirect("/login?done=logout", visitor)


def show_account(site: Site, visitor: Visitor) -> Response:
    """Show the account and the form to change the password."""
    account = site.accounts.account(visitor.member)
    return render(visitor, "account.html", account=account, shortest=SHORTEST)


async def change_password(site: Site, visitor: Visitor) -> Response:
    """Change the password if the current one is right; the other sessions end."""
    email = (await run_in_threadpool(site.accounts.account, visitor.member)).email or ""
    current, new = visitor.form.value("current"), visitor.form.value("new")
    check(current="" if current else "Enter your current password.", new=_password_error(new))
    if not await site.account_of(visitor, email, current):
        raise FormError({"current": "This is not your current password."})
    await site.hashing(site.accounts.set_password, visitor.member, new)
    next_path = "/account?done=password"
    return await run_in_threadpool(_begin_session, site, visitor, visitor.member, next_path)


def _begin_session(site: Site, visitor: Visitor, account: int, next_path: str) -> Response:
    """Log a visitor in, always with a new token."""
    if visitor.session is not None:
        site.accounts.sessions.end(visitor.session)
    visitor.begin(site.accounts.sessions.begin(account), account)
    return redirect(next_path, visitor)


def _password_error(password: str) -> str:
    """Return what is wrong with a new password; "" if nothing is."""
    return str(password_error(password) or "") if password else "Enter a password."


DAYS = 30
"""Days up to today (UTC) whose usage the dashboard shows."""


def show_dashboard(site: Site, visitor: Visitor) -> Response:
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
        made={
            system: sum(use.calls for use in usage if use.system == system) for system in SYSTEMS
        },
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


MOST_ENTRIES = 50
"""Entries on one page."""


def show_statement(site: Site, visitor: Visitor) -> Response:
    """Show one page of the statement, the newest entries first."""
    before = row_number(visitor.request.query_params.get("before", ""))
    entries = site.accounts.statement.entries(visitor.member, MOST_ENTRIES + 1, before)
    return render(
        visitor,
        "statement.html",
        account=site.accounts.account(visitor.member),
        entries=entries[:MOST_ENTRIES],
        older=entries[MOST_ENTRIES - 1].entry_id if len(entries) > MOST_ENTRIES else None,
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
