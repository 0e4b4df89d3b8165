"""The statement of an account, as pages and as one CSV file."""

from __future__ import annotations

from starlette.responses import Response, StreamingResponse

from pipeline.service.accounts import row_number, statement_csv
from pipeline.service.web.rendering import render
from pipeline.service.web.site import Site, Visitor

__all__ = ["MOST", "download", "show"]

MOST = 50
"""Entries on one page."""


def show(site: Site, visitor: Visitor) -> Response:
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


def download(site: Site, visitor: Visitor) -> Response:
    """Stream the whole statement as CSV, the oldest entries first."""
    name = f"statement-{visitor.member}-{site.accounts.today().isoformat()}.csv"
    statement, keys = site.accounts.statement, site.accounts.keys
    return StreamingResponse(
        statement_csv(statement.each(visitor.member), keys.of(visitor.member)),
        media_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )
