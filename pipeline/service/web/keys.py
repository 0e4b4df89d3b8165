"""Making, revoking and replacing API keys; a key itself is on one page once."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from pipeline.errors import SettingsError
from pipeline.service.accounts import ApiKey
from pipeline.service.web import dashboard
from pipeline.service.web.errors import PageError
from pipeline.service.web.forms import Form
from pipeline.service.web.redirects import HOME, redirect
from pipeline.service.web.rendering import render
from pipeline.service.web.site import Site
from pipeline.service.web.visitors import Visitor

__all__ = ["ask_revoke", "ask_rotate", "make", "revoke", "rotate"]

NOT_YOURS = "Your account has no such key in use. Your keys are on the dashboard."

LONGEST_NUMBER = 19
"""Digits: SQLite knows no larger numbers."""


async def make(site: Site, request: Request, visitor: Visitor, form: Form) -> Response:
    """Make a key and show it."""
    try:
        new = await run_in_threadpool(site.accounts.keys.make, visitor.member, form.value("name"))
    except SettingsError as error:
        wrong = form.wrong({"name": str(error)})
        return await run_in_threadpool(dashboard.show, site, request, visitor, wrong)
    return await run_in_threadpool(_made, site, request, visitor, new.key_id, new.key)


def ask_revoke(site: Site, request: Request, visitor: Visitor) -> Response:
    """Ask whether a key is really to be revoked."""
    return _ask(site, request, visitor, "revoke")


def ask_rotate(site: Site, request: Request, visitor: Visitor) -> Response:
    """Ask whether a key is really to be replaced."""
    return _ask(site, request, visitor, "rotate")


async def revoke(site: Site, request: Request, visitor: Visitor, form: Form) -> Response:  # noqa: ARG001 - an action's shape
    """Revoke a key."""
    key_id = _number(request)
    if not await run_in_threadpool(site.accounts.keys.revoke, visitor.member, key_id):
        raise PageError(404, NOT_YOURS)
    return redirect(f"{HOME}?done=revoked", visitor)


async def rotate(site: Site, request: Request, visitor: Visitor, form: Form) -> Response:  # noqa: ARG001 - as above
    """Put a new key in a key's place and show it."""
    key_id = _number(request)
    new = await run_in_threadpool(site.accounts.keys.rotate, visitor.member, key_id)
    if new is None:
        raise PageError(404, NOT_YOURS)
    return await run_in_threadpool(_made, site, request, visitor, new.key_id, new.key)


def _ask(site: Site, request: Request, visitor: Visitor, deed: str) -> Response:
    key = _find(site, visitor, _number(request))
    return render(request, "key_asked.html", visitor=visitor, key=key, deed=deed)


def _made(site: Site, request: Request, visitor: Visitor, key_id: int, secret: str) -> Response:
    key = _find(site, visitor, key_id)
    return render(request, "key_made.html", visitor=visitor, key=key, secret=secret)


def _find(site: Site, visitor: Visitor, key_id: int) -> ApiKey:
    for key in site.accounts.keys.of(visitor.member):
        if key.key_id == key_id and key.revoked_at is None:
            return key
    raise PageError(404, NOT_YOURS)


def _number(request: Request) -> int:
    text = request.path_params["key_id"]
    if not (text.isascii() and text.isdigit() and len(text) < LONGEST_NUMBER):
        raise PageError(404, NOT_YOURS)
    return int(text)
