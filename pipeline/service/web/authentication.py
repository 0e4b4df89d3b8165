"""Signing up, logging in and logging out."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from pipeline.errors import SettingsError
from pipeline.service.accounts import LIFETIME, STARTING_BALANCE
from pipeline.service.web.forms import Form
from pipeline.service.web.guessing import TooManyTriesError
from pipeline.service.web.passwords import (
    SHORTEST,
    account_of,
    password_error,
    patience,
    wait_for_sign_up,
)
from pipeline.service.web.redirects import HOME, redirect, safe_path
from pipeline.service.web.rendering import render
from pipeline.service.web.site import Site
from pipeline.service.web.visitors import Visitor

__all__ = ["begin_session", "log_in", "log_out", "show_log_in", "show_sign_up", "sign_up"]

NO_EMAIL, NO_PASSWORD = "Enter your e-mail address.", "Enter your password."


def show_log_in(site: Site, request: Request, visitor: Visitor) -> Response:  # noqa: ARG001 - a page's shape
    """Show the form to log in, unless that is done."""
    next_path = safe_path(request.query_params.get("next", ""))
    if visitor.account_id is not None:
        return redirect(next_path, visitor)
    return _log_in_form(request, visitor, Form({"next": [next_path]}))


def show_sign_up(site: Site, request: Request, visitor: Visitor) -> Response:  # noqa: ARG001 - as above
    """Show the form to open an account."""
    if visitor.account_id is not None:
        return redirect(HOME, visitor)
    return _sign_up_form(request, visitor, Form())


async def log_in(site: Site, request: Request, visitor: Visitor, form: Form) -> Response:
    """Begin a session for whoever knows the password."""
    email, password = form.value("email"), form.value("password")
    errors = {}
    if not email.strip():
        errors["email"] = NO_EMAIL
    if not password:
        errors["password"] = NO_PASSWORD
    if errors:
        return _log_in_form(request, visitor, form.wrong(errors))
    try:
        account = await account_of(site, request, email, password)
    except TooManyTriesError as error:
        return _log_in_form(request, visitor, form.wrong({"": patience(error.wait)}), error.wait)
    if account is None:
        errors[""] = "The e-mail address or the password is wrong."
        return _log_in_form(request, visitor, form.wrong(errors))
    return await begin_session(site, visitor, account, safe_path(form.value("next")))


async def sign_up(site: Site, request: Request, visitor: Visitor, form: Form) -> Response:
    """Open an account and begin a session."""
    email, password = form.value("email"), form.value("password")
    errors = {}
    if not email.strip():
        errors["email"] = NO_EMAIL
    if problem := password_error(password):
        errors["password"] = problem
    if errors:
        return _sign_up_form(request, visitor, form.wrong(errors))
    if wait := wait_for_sign_up(site, request):
        return _sign_up_form(request, visitor, form.wrong({"": patience(wait)}), wait)
    try:
        account = await site.hashing(site.accounts.sign_up, email, password)
    except SettingsError as error:  # about the address: the password was looked at
        return _sign_up_form(request, visitor, form.wrong({"email": str(error)}))
    return await begin_session(site, visitor, account, HOME)


async def log_out(site: Site, request: Request, visitor: Visitor, form: Form) -> Response:  # noqa: ARG001 - an action's shape
    """End the session, here and in the browser."""
    if visitor.session is not None:
        await run_in_threadpool(site.accounts.sessions.end, visitor.session)
        visitor.end()
    return redirect("/", visitor)


async def begin_session(site: Site, visitor: Visitor, account: int, next_path: str) -> Response:
    """Log a visitor in: always with a token that nobody has seen before."""
    if visitor.session is not None:
        await run_in_threadpool(site.accounts.sessions.end, visitor.session)
    visitor.session = await run_in_threadpool(site.accounts.sessions.begin, account)
    visitor.account_id = account
    return redirect(next_path, visitor, LIFETIME)


def _log_in_form(request: Request, visitor: Visitor, form: Form, wait: int = 0) -> Response:
    status, headers = _outcome(form, wait)
    return render(request, "login.html", status, visitor=visitor, headers=headers, form=form)


def _sign_up_form(request: Request, visitor: Visitor, form: Form, wait: int = 0) -> Response:
    status, headers = _outcome(form, wait)
    values = {"form": form, "shortest": SHORTEST, "starting_balance": STARTING_BALANCE}
    return render(request, "signup.html", status, visitor=visitor, headers=headers, **values)


def _outcome(form: Form, wait: int) -> tuple[int, dict[str, str]]:
    if wait:
        return 429, {"Retry-After": str(wait)}
    return 422 if form.errors else 200, {}
