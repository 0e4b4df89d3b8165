"""Answers queries and extensions, for the accounts and within the limits of the service."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from itertools import islice
from typing import Any, TypeAlias
from urllib.parse import parse_qsl

from jinja2 import Environment
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from pipeline.answers import SYSTEMS, Match, System
from pipeline.charts import environment
from pipeline.money import total
from pipeline.service.accounts import Holder
from pipeline.service.errors import RateLimitError, ValidationError
from pipeline.service.http.messages import RECONCILE, checked_description, form_of, key_of
from pipeline.service.matching.calls import Calls
from pipeline.service.reconcile.catalogue import Catalogue, Entity, catalogue, extended, properties
from pipeline.service.reconcile.queries import (
    MORE_TEXT,
    Query,
    json_response,
    queries_in,
    refuse_jsonp,
)
from pipeline.service.spec import SYSTEM_NAMES, Terms
from pipeline.versions import VERSIONS

__all__ = ["Candidate", "lookups", "of_code", "of_matches", "reconcile_routes", "service_manifest"]


IDENTIFIERS: dict[System, str] = {
    "cpv": "http://data.europa.eu/cpv/cpv/",
    "psc": "https://www.acquisition.gov/psc-manual",
    "unspsc": "https://www.ungm.org/Public/UNSPSC",
    "naics": "https://www.census.gov/naics/",
}
"""A URI for the codes of each system, the same wherever the service runs."""

WIDTH, HEIGHT = 430, 300
"""The size of a preview, pixels."""


def service_manifest(codes: Catalogue, base_url: str, most: int) -> dict[str, Any]:
    """Return the manifest of a system's service; a batch has at most `most` queries.

    Its addresses have no key, as previews, suggestions and extensions need none.
    """
    path = f"{RECONCILE}/{codes.system}"
    preview = {"url": f"{base_url}{path}/preview?id={{{{id}}}}"}
    suggest = {
        kind: {"service_url": base_url, "service_path": f"{path}/suggest/{kind}"}
        for kind in ("entity", "property", "type")
    }
    suggest["entity"]["flyout_service_url"] = base_url
    suggest["entity"]["flyout_service_path"] = f"{path}/flyout?id=${{id}}"
    properties = {"service_url": base_url, "service_path": f"{path}/properties"}
    return {
        "versions": ["0.2"],
        "name": f"{codes.system.upper()}: {SYSTEM_NAMES[codes.system]}",
        "identifierSpace": IDENTIFIERS[codes.system],
        "schemaSpace": IDENTIFIERS[codes.system],
        "documentation": f"{base_url}/docs",
        "serviceVersion": VERSIONS["tender-pipeline"],
        "defaultTypes": [codes.any_code],
        "batchSize": most,
        "view": preview,
        "preview": {**preview, "width": WIDTH, "height": HEIGHT},
        "suggest": suggest,
        "extend": {"propose_properties": properties, "property_settings": []},
    }


Candidate: TypeAlias = dict[str, Any]
"""A candidate as the API writes it."""

CERTAIN = 0.9
"""The confidence from which the best candidate is matched without being asked about."""

DIGITS = 6
"""Decimal places of a sum of confidences; without rounding, .5 + .3 is less than .8."""


def of_code(code: str, query: Query, codes: Catalogue) -> list[Candidate]:
    """Return the candidates of a cell that holds a code.

    It is matched if the cell has all its digits: ``45`` may also be a number of something else.
    """
    whole = "".join(query.text.upper().split()).replace("-", "").startswith(code.replace("-", ""))
    found = _at_levels({code: 1.0}, query.levels, codes)
    return [_candidate(each, 1.0, whole, query, codes) for each in found]


def of_matches(matches: Sequence[Match], query: Query, codes: Catalogue) -> list[Candidate]:
    """Return the candidates of a text, the most confident first."""
    confidences = {match.code: match.confidence for match in matches if match.code in codes.table}
    found = _at_levels(confidences, query.levels, codes)
    best = sorted(found.items(), key=lambda item: -item[1])[: query.limit]
    return [
        _candidate(code, confidence, place == 0 and confidence >= CERTAIN, query, codes)
        for place, (code, confidence) in enumerate(best)
    ]


def _at_levels(
    confidences: Mapping[str, float], levels: Iterable[str], codes: Catalogue
) -> dict[str, float]:
    """Replace codes by those above them that are of the levels, and add up their confidences."""
    if not levels:
        return dict(confidences)
    sums: dict[str, float] = {}
    for code, confidence in confidences.items():
        for level in levels:
            above = codes.at_level(code, level)
            if above is not None:
                sums[above] = round(min(1.0, sums.get(above, 0.0) + confidence), DIGITS)
    return sums


def _candidate(
    code: str, confidence: float, is_match: bool, query: Query, codes: Catalogue
) -> Candidate:
    level = codes.table.level(code)
    # Without a wanted level, only the type of all codes: OpenRefine would suggest the most frequent
    # level, and so restrict the candidates to it.
    types = [codes.levels[level], codes.any_code] if query.levels else [codes.any_code]
    return {
        **codes.entity(code),
        "description": codes.description(code),
        "type": types,
        "score": round(100 * confidence, 2),
        "match": is_match,
        "features": [{"id": "confidence", "value": confidence}],
    }


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


MOST_QUERIES = 50
"""Queries in a batch, if the rate limit allows as many."""

MAX_BATCH = 1024 * 1024
"""Bytes of a form; a batch of usual texts has a tenth."""

MAX_FIELDS = 10

PATIENCE = 120.0
"""Seconds: a longer wait is not stated in Retry-After, as OpenRefine would sleep for it."""


def reconcile_routes(calls: Calls, terms: Terms) -> list[Route]:
    """Return the routes of all systems."""
    return [route for system in SYSTEMS for route in _routes(system, calls, terms)]


def _routes(system: System, calls: Calls, terms: Terms) -> Iterable[Route]:
    path = f"{RECONCILE}/{system}"
    main = _main(system, calls, terms)
    yield Route(path, main, methods=["GET", "POST"])
    yield Route(f"{RECONCILE}/{{key}}/{system}", main, methods=["GET", "POST"])
    yield from lookups(system)


def _main(system: System, calls: Calls, terms: Terms) -> Callable[[Request], Awaitable[Response]]:
    async def main(request: Request) -> Response:
        refuse_jsonp(request)
        holder = calls.holder(request.path_params.get("key") or key_of(request))
        if holder is not None:
            request.state.account_id = holder.account_id
        codes = await run_in_threadpool(catalogue, system)
        most = _most_queries(holder, terms)
        form = dict(parse_qsl(request.url.query, keep_blank_values=True))
        if request.method == "POST":
            form |= await form_of(request, MAX_BATCH, MAX_FIELDS)
        if "queries" in form:
            queries = queries_in(form["queries"], codes, most)
            return json_response(await _reconciled(request, calls, holder, codes, queries))
        if "extend" in form:
            return json_response(await run_in_threadpool(extended, form["extend"], codes))
        return json_response(service_manifest(codes, str(request.base_url).rstrip("/"), most))

    return main


def _most_queries(holder: Holder | None, terms: Terms) -> int:
    """Return how many queries a batch can have, so that the limit can ever allow it."""
    rate = terms.demo_rate if holder is None else terms.key_rate
    return MOST_QUERIES if rate is None else min(MOST_QUERIES, rate.slots)


async def _reconciled(
    request: Request,
    calls: Calls,
    holder: Holder | None,
    codes: Catalogue,
    queries: dict[str, Query],
) -> dict[str, Any]:
    """Answer queries. Cells with codes are looked up free of charge; texts are calls."""
    written = {name: codes.find(query.text) for name, query in queries.items()}
    texts = {
        name: query.text
        for name, query in queries.items()
        if written[name] is None and _can_be_classified(query.text)
    }
    _count(request, calls, holder, len(texts))
    answered = await calls.answer_all(holder, codes.system, list(texts.values()))
    if answered:
        request.state.price_usd = total(one.price.final for one in answered)
    matches = {name: one.matches for name, one in zip(texts, answered, strict=True)}
    return {
        name: {"result": _candidates(written[name], matches.get(name, ()), query, codes)}
        for name, query in queries.items()
    }


def _candidates(
    code: str | None, matches: Sequence[Any], query: Query, codes: Catalogue
) -> list[Candidate]:
    return of_matches(matches, query, codes) if code is None else of_code(code, query, codes)


def _can_be_classified(text: str) -> bool:
    """Return whether a text can be asked about: one bad cell must not fail its whole batch."""
    try:
        checked_description(text)
    except ValidationError:
        return False
    return True


def _count(request: Request, calls: Calls, holder: Holder | None, number: int) -> None:
    if not number:
        return
    try:
        calls.count(holder, request.client.host if request.client else "", number)
    except RateLimitError as error:
        if error.wait > PATIENCE:
            error.headers = {}
        raise
