"""The page where the password is changed."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from pipeline.service.accounts import LIFETIME
from pipeline.service.web.forms import Form
from pipeline.service.web.guessing import TooManyTriesError
from pipeline.service.web.passwords import SHORTEST, account_of, password_error, patience
from pipeline.service.web.redirects import redirect
from pipeline.service.web.rendering import render
from pipeline.service.web.site import Site
from pipeline.service.web.visitors import Visitor

__all__ = ["change_password", "show"]

CHANGED = "The password is changed, and every other session of this account has ended."


def show(site: Site, request: Request, visitor: Visitor) -> Response:
    """Show the account and the form."""
    return _page(site, request, visitor, Form())


async def change_password(site: Site, request: Request, visitor: Visitor, form: Form) -> Response:
    """Change the password of whoever knows the present one; other sessions end."""
    email = (await run_in_threadpool(site.accounts.account, visitor.member)).email or ""
    errors = {}
    if not form.value("current"):
        errors["current"] = "Enter your present password."
    if problem := password_error(form.value("new")):
        errors["new"] = problem
    wait = 0
    try:
        if not errors and not await account_of(site, request, email, form.value("current")):
            errors["current"] = "This is not your present password."
    except TooManyTriesError as error:
        errors[""], wait = patience(error.wait), error.wait
    if errors:
        wrong = form.wrong(errors)
        return await run_in_threadpool(_page, site, request, visitor, wrong, wait)
    await site.hashing(site.accounts.set_password, visitor.member, form.value("new"))
    visitor.session = await run_in_threadpool(site.accounts.sessions.begin, visitor.member)
    return redirect("/account?done=password", visitor, LIFETIME)


def _page(site: Site, request: Request, visitor: Visitor, form: Form, wait: int = 0) -> Response:
    return render(
        request,
        "account.html",
        429 if wait else 422 if form.errors else 200,
        visitor=visitor,
        headers={"Retry-After": str(wait)} if wait else None,
        account=site.accounts.account(visitor.member),
        shortest=SHORTEST,
        form=form,
        done=CHANGED if request.query_params.get("done") == "password" else None,
    )
