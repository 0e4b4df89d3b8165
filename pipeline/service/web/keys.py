"""The pages that make, revoke and replace API keys; a key itself is shown once."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from pipeline.errors import SettingsError
from pipeline.service.accounts import ApiKey, NewKey, row_number
from pipeline.service.web import dashboard
from pipeline.service.web.forms import Form, PageError
from pipeline.service.web.rendering import render
from pipeline.service.web.site import HOME, Site, Visitor, redirect

__all__ = ["ask_revoke", "ask_rotate", "make", "revoke", "rotate"]

NOT_YOURS = "Your account has no such key in use. The dashboard lists your keys."


async def make(site: Site, visitor: Visitor, form: Form) -> Response:
    """Make a key and show it."""
    try:
        new = await run_in_threadpool(site.accounts.keys.make, visitor.member, form.value("name"))
    except SettingsError as error:
        wrong = form.wrong({"name": str(error)})
        return await run_in_threadpool(dashboard.show, site, visitor, wrong)
    return await run_in_threadpool(_made, site, visitor, new)


def ask_revoke(site: Site, visitor: Visitor) -> Response:
    """Ask to confirm that a key is revoked."""
    return _ask(site, visitor, "revoke")


def ask_rotate(site: Site, visitor: Visitor) -> Response:
    """Ask to confirm that a key is replaced."""
    return _ask(site, visitor, "rotate")


async def revoke(site: Site, visitor: Visitor, _: Form) -> Response:
    """Revoke a key."""
    if not await run_in_threadpool(site.accounts.keys.revoke, visitor.member, _number(visitor)):
        raise PageError(404, NOT_YOURS)
    return redirect(f"{HOME}?done=revoked", visitor)


async def rotate(site: Site, visitor: Visitor, _: Form) -> Response:
    """Replace a key by a new one and show that."""
    new = await run_in_threadpool(site.accounts.keys.rotate, visitor.member, _number(visitor))
    if new is None:
        raise PageError(404, NOT_YOURS)
    return await run_in_threadpool(_made, site, visitor, new)


def _ask(site: Site, visitor: Visitor, action: str) -> Response:
    key = _find(site, visitor, _number(visitor))
    return render(visitor, "key_asked.html", key=key, action=action)


def _made(site: Site, visitor: Visitor, new: NewKey) -> Response:
    key = _find(site, visitor, new.key_id)
    return render(visitor, "key_made.html", key=key, secret=new.key)


def _find(site: Site, visitor: Visitor, key_id: int) -> ApiKey:
    for key in site.accounts.keys.of(visitor.member):
        if key.key_id == key_id and key.revoked_at is None:
            return key
    raise PageError(404, NOT_YOURS)


def _number(visitor: Visitor) -> int:
    number = row_number(visitor.request.path_params["key_id"])
    if number is None:
        raise PageError(404, NOT_YOURS)
    return number
