"""The pages that need a password: sign up, log in and out, change the password."""

from __future__ import annotations

from math import ceil
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from pipeline.errors import SettingsError
from pipeline.quoting import how_many
from pipeline.service.accounts import LIFETIME, STARTING_BALANCE
from pipeline.service.accounts.keys import SHORTEST, check_password
from pipeline.service.errors import RateLimitError
from pipeline.service.web.forms import Form
from pipeline.service.web.rendering import NO_FORM, render
from pipeline.service.web.site import HOME, Site, Visitor, redirect, safe_path

NO_EMAIL, NO_PASSWORD = "Enter your e-mail address.", "Enter your password."

CHANGED = "Password changed. Every other session of this account has ended."

LOGGED_OUT = "You are logged out."


def show_log_in(_: Site, visitor: Visitor) -> Response:
    """Show the login form, or go on if the visitor is logged in."""
    asked = visitor.request.query_params
    next_path = safe_path(asked.get("next", ""))
    if visitor.account_id is not None:
        return redirect(next_path, visitor)
    done = LOGGED_OUT if asked.get("done") == "logout" else None
    return render(visitor, "login.html", form=Form({"next": [next_path]}), done=done)


async def log_in(site: Site, visitor: Visitor, form: Form) -> Response:
    """Begin a session if the password is right."""
    email, password = form.value("email"), form.value("password")
    missing = {"email": (email.strip(), NO_EMAIL), "password": (password, NO_PASSWORD)}
    errors = {name: message for name, (value, message) in missing.items() if not value}
    wait, account = 0, None
    try:
        account = None if errors else await site.account_of(visitor, email, password)
    except RateLimitError as error:
        errors[""], wait = _patience(error.wait), error.wait
    if account is not None:
        return await run_in_threadpool(
            _begin_session, site, visitor, account, safe_path(form.value("next"))
        )
    errors = errors or {"": "The e-mail address or the password is wrong."}
    return render(visitor, "login.html", form=form.wrong(errors, wait), done=None)


def show_sign_up(_: Site, visitor: Visitor) -> Response:
    """Show the form to open an account."""
    return _sign_up_form(visitor, Form()) if visitor.session is None else redirect(HOME, visitor)


async def sign_up(site: Site, visitor: Visitor, form: Form) -> Response:
    """Open an account and begin a session."""
    email, password = form.value("email"), form.value("password")
    errors = {}
    if not email.strip():
        errors["email"] = NO_EMAIL
    if problem := _password_error(password):
        errors["password"] = problem
    if errors:
        return _sign_up_form(visitor, form.wrong(errors))
    if wait := site.wait_for_sign_up(visitor):
        return _sign_up_form(visitor, form.wrong({"": _patience(wait)}, wait))
    try:
        account = await site.hashing(site.accounts.sign_up, email, password)
    except SettingsError as error:  # about the address: the password was checked above
        return _sign_up_form(visitor, form.wrong({"email": str(error)}))
    return await run_in_threadpool(_begin_session, site, visitor, account, HOME)


def log_out(site: Site, visitor: Visitor, _: Form) -> Response:
    """End the session, here and in the browser, and say so beside the login form."""
    if visitor.session is not None:
        site.accounts.sessions.end(visitor.session)
        visitor.end()
    return redirect("/login?done=logout", visitor)


def show_account(site: Site, visitor: Visitor, form: Form | None = None) -> Response:
    """Show the account and the form to change the password."""
    return render(
        visitor,
        "account.html",
        form=form or NO_FORM,
        account=site.accounts.account(visitor.member),
        shortest=SHORTEST,
        done=CHANGED if visitor.request.query_params.get("done") == "password" else None,
    )


async def change_password(site: Site, visitor: Visitor, form: Form) -> Response:
    """Change the password if the current one is right; the other sessions end."""
    email = (await run_in_threadpool(site.accounts.account, visitor.member)).email or ""
    current, new = form.value("current"), form.value("new")
    errors, wait = {}, 0
    if not current:
        errors["current"] = "Enter your current password."
    if problem := _password_error(new):
        errors["new"] = problem
    try:
        if not errors and not await site.account_of(visitor, email, current):
            errors["current"] = "This is not your current password."
    except RateLimitError as error:
        errors[""], wait = _patience(error.wait), error.wait
    if errors:
        return await run_in_threadpool(show_account, site, visitor, form.wrong(errors, wait))
    await site.hashing(site.accounts.set_password, visitor.member, new)
    visitor.session = await run_in_threadpool(site.accounts.sessions.begin, visitor.member)
    return redirect("/account?done=password", visitor, LIFETIME)


def _begin_session(site: Site, visitor: Visitor, account: int, next_path: str) -> Response:
    """Log a visitor in, always with a new token."""
    if visitor.session is not None:
        site.accounts.sessions.end(visitor.session)
    visitor.session = site.accounts.sessions.begin(account)
    visitor.enter(account)
    return redirect(next_path, visitor, LIFETIME)


def _sign_up_form(visitor: Visitor, form: Form) -> Response:
    values: dict[str, Any] = {"shortest": SHORTEST, "starting_balance": STARTING_BALANCE}
    return render(visitor, "signup.html", form=form, **values)


def _password_error(password: str) -> str | None:
    """Return what is wrong with a new password; None if nothing is."""
    if not password:
        return "Enter a password."
    try:
        check_password(password)
    except SettingsError as error:
        return str(error)
    return None


def _patience(seconds: int) -> str:
    wait = how_many(seconds, "second") if seconds < 60 else how_many(ceil(seconds / 60), "minute")
    return f"Too many attempts. Try again in {wait}."
