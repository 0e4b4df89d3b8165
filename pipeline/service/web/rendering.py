"""Turns templates into responses, escaped throughout."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Environment
from starlette.requests import Request
from starlette.responses import HTMLResponse

from pipeline.charts import environment
from pipeline.service.web.static_files import static
from pipeline.service.web.visitors import Visitor, visitor_of
from pipeline.service.web.wording import count, rate_words, usd, when

__all__ = ["base_url_of", "render"]


def render(
    request: Request,
    template: str,
    status: int = 200,
    *,
    visitor: Visitor | None = None,
    headers: Mapping[str, str] | None = None,
    **values: Any,
) -> HTMLResponse:
    """Return a page.

    Args:
        request: what asks for it.
        template: its file in `templates`; it extends `base.html`.
        status: the HTTP status.
        visitor: who asks; None: whoever the cookies say, without asking the accounts.
        headers: further headers.
        values: what the template shows.
    """
    visitor = visitor or visitor_of(request)
    text = (
        _templates()
        .get_template(template)
        .render(visitor=visitor, here=request.url.path, base_url=base_url_of(request), **values)
    )
    response = HTMLResponse(text, status, headers)
    visitor.give_cookies(response)
    return response


def base_url_of(request: Request) -> str:
    """Return where this service is reached, as this visitor does; no slash ends it."""
    return str(request.base_url).rstrip("/")


@cache
def _templates() -> Environment:
    templates = environment("pipeline.service.web")
    templates.filters |= {"count": count, "rate": rate_words, "usd": usd, "when": when}
    templates.globals["static"] = static
    return templates
