"""The pages that need a password: sign up, log in and out, change the password."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from pipeline.errors import SettingsError
from pipeline.service.accounts import STARTING_BALANCE
from pipeline.service.accounts.keys import SHORTEST, password_error
from pipeline.service.web.browsers import FormError, check
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
