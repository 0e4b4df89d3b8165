"""Look-ups in the code tables: previews, suggestions and properties. They are free."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import cache
from hashlib import sha256
from itertools import islice

from jinja2 import Environment
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from pipeline.answers import System
from pipeline.charts import environment
from pipeline.service.errors import ValidationError
from pipeline.service.http.paths import RECONCILE
from pipeline.service.reconcile.catalogue import Catalogue, Entity, catalogue
from pipeline.service.reconcile.extension import properties
from pipeline.service.reconcile.queries import MORE_TEXT
from pipeline.service.reconcile.responses import json_response, refuse_jsonp

__all__ = ["lookups"]

MOST_SUGGESTED = 20

MOST_BELOW = 20
"""Codes below a code that a preview shows."""

LONGEST_TYPED = 200
"""Characters of a text to complete."""


def lookups(system: System) -> Iterator[Route]:
    """Yield the routes of a system's look-ups, which need no key and have no limit."""
    by_name: dict[str, Callable[[Request, Catalogue], Response]] = {
        "preview": _preview,
        "flyout": _flyout,
        "properties": _proposals,
        "suggest/entity": _entities,
        "suggest/type": lambda request, codes: _completed(request, codes.types),
        "suggest/property": lambda request, _: _completed(request, [MORE_TEXT]),
    }
    for name, lookup in by_name.items():
        yield Route(f"{RECONCILE}/{system}/{name}", _looked_up(system, lookup))


def _looked_up(
    system: System, lookup: Callable[[Request, Catalogue], Response]
) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        refuse_jsonp(request)
        return await run_in_threadpool(lambda: lookup(request, catalogue(system)))

    return endpoint


def _preview(request: Request, codes: Catalogue) -> Response:
    """Return a page about a code, which any other page may frame."""
    code = _code(request, codes)
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


def _flyout(request: Request, codes: Catalogue) -> Response:
    """Return the short description of a code, as HTML in JSON."""
    code = _code(request, codes)
    entity = codes.entity(code)
    html = Markup("<p><strong>{} {}</strong></p><p>{}</p>")
    shown = html.format(code, entity["name"], codes.description(code))
    return json_response({"id": code, "html": shown})


@cache
def _style() -> str:
    """Return the style sheet as the page has it, since its hash is in the policy."""
    return _templates().get_template("preview.css").render()


@cache
def _templates() -> Environment:
    return environment("pipeline.service.reconcile")


def _code(request: Request, codes: Catalogue) -> str:
    code = codes.find(request.query_params.get("id", ""))
    if code is None:
        raise HTTPException(404)
    return code


def _proposals(request: Request, codes: Catalogue) -> Response:
    """Propose properties for new columns; they are the same for all types."""
    kind = request.query_params.get("type", codes.any_code["id"])
    most = _number(request, "limit", len(properties(codes)))
    return json_response({"type": kind, "limit": most, "properties": properties(codes)[:most]})


def _entities(request: Request, codes: Catalogue) -> Response:
    found = islice(codes.search(_typed(request)), *_page(request))
    suggested = [
        {
            **codes.entity(code),
            "description": f"{code}, {codes.description(code)}",
            "notable": [codes.levels[codes.table.level(code)]],
        }
        for code in found
    ]
    return json_response({"result": suggested})


def _completed(request: Request, entities: Sequence[Entity]) -> Response:
    typed = _typed(request).casefold()
    found = [each for each in entities if typed in f"{each['id']} {each['name']}".casefold()]
    return json_response({"result": list(islice(found, *_page(request)))})


def _typed(request: Request) -> str:
    typed = request.query_params.get("prefix", "").strip()
    if len(typed) > LONGEST_TYPED:
        raise ValidationError(
            f"The prefix has {len(typed):,} characters. Shorten it to {LONGEST_TYPED}."
        )
    return typed


def _page(request: Request) -> tuple[int, int]:
    start = _number(request, "cursor", 0)
    return start, start + MOST_SUGGESTED


def _number(request: Request, name: str, usual: int) -> int:
    """Return a whole number of the query; the usual one without or for anything else."""
    text = request.query_params.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else usual
