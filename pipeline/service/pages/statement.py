"""The statement of an account: every change of its balance, as pages and as one file."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from pipeline.service.accounts import Entry
from pipeline.service.pages.entries import entries_of, key_names
from pipeline.service.pages.rendering import PRIVATE, render
from pipeline.service.pages.site import Site
from pipeline.service.pages.visitors import Visitor
from pipeline.service.pages.wording import iso
from pipeline.tables.cells import cell

__all__ = ["COLUMNS", "MOST", "download", "show"]

MOST = 50
"""Entries on one page."""

COLUMNS = ("entry", "time", "kind", "system", "key", "amount_usd", "balance_usd", "note")


def show(site: Site, request: Request, visitor: Visitor) -> Response:
    """Show some of the statement, the newest entries first."""
    assert visitor.account_id is not None  # noqa: S101 - the router lets nobody else in
    before = _entry_number(request.query_params.get("before", ""))
    entries = site.accounts.statement.entries(visitor.account_id, MOST + 1, before)
    return render(
        request,
        "statement.html",
        visitor=visitor,
        account=site.accounts.account(visitor.account_id),
        entries=entries[:MOST],
        older=entries[MOST - 1].entry_id if len(entries) > MOST else None,
        newest=before is None,
        names=key_names(site.accounts.keys.of(visitor.account_id)),
    )


def download(site: Site, request: Request, visitor: Visitor) -> Response:  # noqa: ARG001 - a page's shape
    """Send the whole statement as CSV, the newest entries first, while it is being read."""
    assert visitor.account_id is not None  # noqa: S101 - as above
    names = key_names(site.accounts.keys.of(visitor.account_id))
    name = f"statement-{visitor.account_id}-{site.today().isoformat()}.csv"
    return StreamingResponse(
        _csv(entries_of(site.accounts.statement, visitor.account_id), names),
        media_type="text/csv; charset=utf-8",
        headers={**PRIVATE, "Content-Disposition": f'attachment; filename="{name}"'},
    )


def _csv(entries: Iterator[Entry], names: Mapping[int | None, str]) -> Iterator[str]:
    """Write entries as lines; amounts to the last digit, texts so that none is a formula."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for entry in entries:
        writer.writerow(
            (
                entry.entry_id,
                iso(entry.at),
                entry.kind,
                entry.system or "",
                cell(names.get(entry.key_id, "")),
                cell(entry.amount_usd),
                cell(entry.balance_usd),
                cell(entry.note),
            )
        )
        if text.tell() > 1 << 16:
            yield text.getvalue()
            text.seek(0)
            text.truncate()
    yield text.getvalue()


def _entry_number(text: str) -> int | None:
    """Return the number of an entry; None for what can be none, which shows the newest."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
