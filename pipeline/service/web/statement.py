"""The statement of an account: every change of its balance, as pages and as one file."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from pipeline.service.accounts import statement_csv
from pipeline.service.web.entries import key_names
from pipeline.service.web.rendering import render
from pipeline.service.web.site import Site
from pipeline.service.web.visitors import Visitor

__all__ = ["MOST", "download", "show"]

MOST = 50
"""Entries on one page."""


def show(site: Site, request: Request, visitor: Visitor) -> Response:
    """Show some of the statement, the newest entries first."""
    before = _entry_number(request.query_params.get("before", ""))
    entries = site.accounts.statement.entries(visitor.member, MOST + 1, before)
    return render(
        request,
        "statement.html",
        visitor=visitor,
        account=site.accounts.account(visitor.member),
        entries=entries[:MOST],
        older=entries[MOST - 1].entry_id if len(entries) > MOST else None,
        newest=before is None,
        names=key_names(site.accounts.keys.of(visitor.member)),
    )


def download(site: Site, request: Request, visitor: Visitor) -> Response:  # noqa: ARG001 - a page's shape
    """Send the whole statement as CSV, the oldest entries first, while it is being read."""
    name = f"statement-{visitor.member}-{site.accounts.today().isoformat()}.csv"
    statement, keys = site.accounts.statement, site.accounts.keys
    return StreamingResponse(
        statement_csv(statement.each(visitor.member), keys.of(visitor.member)),
        media_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def _entry_number(text: str) -> int | None:
    """Return the number of an entry; None for what can be none, which shows the newest."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
