"""Shows a code: a page for a frame, and the HTML of a flyout."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256

from jinja2 import Environment
from markupsafe import Markup
from starlette.responses import HTMLResponse

from pipeline.charts import environment
from pipeline.service.reconcile.catalogue import Catalogue

__all__ = ["flyout", "preview"]

MOST_BELOW = 20
"""Codes below a code that are shown."""


def preview(code: str, codes: Catalogue) -> HTMLResponse:
    """Return a page about a code of the table, which any other page may frame."""
    below = codes.table.children(code)[:MOST_BELOW]
    page = _templates().get_template("preview.html")
    text = page.render(
        code=code,
        title=codes.table.titles[code],
        system=codes.system,
        level=codes.table.level(code),
        path=[codes.entity(each) for each in codes.path(code)[:-1]],
        below=[codes.entity(each) for each in below],
        style=Markup(_style()),  # noqa: S704 - our own file
    )
    digest = b64encode(sha256(_style().encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; form-action 'none'; "
        "base-uri 'none'; frame-ancestors *"
    )
    headers = {"Content-Security-Policy": policy, "Cross-Origin-Resource-Policy": "cross-origin"}
    return HTMLResponse(text, headers=headers)


def flyout(code: str, codes: Catalogue) -> dict[str, str]:
    """Return the short description of a code of the table, as HTML in JSON."""
    entity = codes.entity(code)
    html = Markup("<p><strong>{} {}</strong></p><p>{}</p>")
    return {"id": code, "html": html.format(code, entity["name"], codes.description(code))}


@cache
def _style() -> str:
    """Return the style sheet as the page has it, since its hash is in the policy."""
    return _templates().get_template("preview.css").render()


@cache
def _templates() -> Environment:
    return environment("pipeline.service.reconcile")
