"""The page of an account: balance, usage, keys and the last calls."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from pipeline.money import total
from pipeline.service.web.entries import key_names, last_charges
from pipeline.service.web.forms import Form
from pipeline.service.web.rendering import render
from pipeline.service.web.site import Site
from pipeline.service.web.usage import usage_chart
from pipeline.service.web.visitors import Visitor

__all__ = ["show"]

DAYS = 30

RECENT = 20

DONE = {"revoked": "The key is revoked. Calls with it are refused from now on."}
"""What is said after something was done, by the name of it in the address."""


def show(site: Site, request: Request, visitor: Visitor, form: Form | None = None) -> Response:
    """Show an account.

    Args:
        site: what all pages work with.
        request: what asks for it.
        visitor: whose account it is.
        form: what was typed to make a key, with what is wrong.
    """
    account = site.accounts.account(visitor.member)
    keys = site.accounts.keys.of(account.account_id)
    usage = site.accounts.statement.usage(account.account_id, DAYS)
    return render(
        request,
        "dashboard.html",
        422 if form is not None else 200,
        visitor=visitor,
        account=account,
        keys=[key for key in keys if key.revoked_at is None],
        revoked=[key for key in keys if key.revoked_at is not None],
        names=key_names(keys),
        days=DAYS,
        chart=usage_chart(usage, site.accounts.today(), DAYS),
        calls_made=sum(use.calls for use in usage),
        spent=total(use.usd for use in usage),
        calls=last_charges(site.accounts.statement, account.account_id, RECENT),
        form=form or Form(),
        done=DONE.get(request.query_params.get("done", "")),
    )
