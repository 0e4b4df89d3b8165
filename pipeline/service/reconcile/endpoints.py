"""Reads and answers what OpenRefine asks, for the accounts and within the limits of the service."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from math import inf
from typing import Annotated, Any, Literal, TypeAlias
from urllib.parse import parse_qsl

from msgspec import Meta, Struct
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from pipeline.answers import SYSTEMS, Match, System
from pipeline.codes import find_code
from pipeline.money import total
from pipeline.service.accounts import Holder
from pipeline.service.calls import Calls
from pipeline.service.errors import RateLimitError, ValidationError
from pipeline.service.http.messages import RECONCILE, description_error, form_of, key_of, read_json
from pipeline.service.pricing import MAX_MATCHES
from pipeline.service.reconcile.catalogue import Catalogue, Entity, catalogue
from pipeline.service.spec import SYSTEM_NAMES, Terms
from pipeline.service.web.rendering import templates
from pipeline.versions import VERSIONS

SECONDS = 600
"""How long a browser may keep the answer to a preflight request."""


class AnyOrigin(CORSMiddleware):
    """Adds the CORS headers to the responses of the Reconciliation API, also to errors.

    The other paths stay closed to other origins: they have cookies, these have none.
    """

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(
            app,
            allow_origins=["*"],
            allow_methods=["GET", "POST"],
            allow_headers=["X-API-Key"],
            expose_headers=["Retry-After", "X-Request-ID"],
            max_age=SECONDS,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        is_open = scope["path"].startswith(f"{RECONCILE}/")
        await (super().__call__ if is_open else self.app)(scope, receive, send)


IDENTIFIERS: dict[System, str] = {
    "cpv": "http://data.europa.eu/cpv/cpv/",
    "psc": "https://www.acquisition.gov/psc-manual",
    "unspsc": "https://www.ungm.org/Public/UNSPSC",
    "naics": "https://www.census.gov/naics/",
}
"""A URI for the codes of each system, the same wherever the service runs."""

WIDTH, HEIGHT = 430, 300
"""The size of a preview, pixels."""


def _manifest(codes: Catalogue, base_url: str, most: int) -> dict[str, Any]:
    """Return the manifest of a system's service; a batch has at most `most` queries.

    Its addresses have no key, as previews, suggestions and extensions need none.
    """
    path = f"{RECONCILE}/{codes.system}"
    preview = {"url": f"{base_url}{path}/preview?id={{{{id}}}}"}
    suggest = {
        kind: {"service_url": base_url, "service_path": f"{path}/suggest/{kind}"}
        for kind in ("entity", "property", "type")
    }
    properties = {"service_url": base_url, "service_path": f"{path}/properties"}
    return {
        "versions": ["0.2"],
        "name": f"{codes.system.upper()}: {SYSTEM_NAMES[codes.system]}",
        "identifierSpace": IDENTIFIERS[codes.system],
        "schemaSpace": IDENTIFIERS[codes.system],
        "documentation": f"{base_url}/docs#openrefine",
        "serviceVersion": VERSIONS["tender-pipeline"],
        "defaultTypes": [codes.any_code],
        "batchSize": most,
        "view": preview,
        "preview": {**preview, "width": WIDTH, "height": HEIGHT},
        "suggest": suggest,
        "extend": {"propose_properties": properties, "property_settings": []},
    }


MORE_TEXT = {"id": "text", "name": "more text"}
"""The property with further text about what is bought."""

USUAL_LIMIT = 5.0
"""How many candidates a query gets that does not say."""

MOST_IDS = 1_000
"""Codes that are looked up in one request."""


class Property(Struct, frozen=True):
    """A further column of a query: its id, and its value or values."""

    pid: str
    v: Any


class Query(Struct, frozen=True):
    """A query of the Reconciliation API; names that it does not have here are ignored."""

    query: str = ""
    properties: list[Property] = []
    type: str | list[str] = []
    type_strict: Literal["any", "should", "all"] = "any"
    limit: Annotated[float, Meta(ge=1)] | None = USUAL_LIMIT

    @property
    def text(self) -> str:
        """The text of the cell and of the property with further text; others are ignored."""
        parts = [self.query]
        for column in self.properties:
            if column.pid == MORE_TEXT["id"]:
                parts += map(_text, column.v if isinstance(column.v, list) else [column.v])
        return ". ".join(filter(None, (" ".join(part.split()) for part in parts)))

    @property
    def most(self) -> int:
        """The maximum number of candidates."""
        return int(min(self.limit or USUAL_LIMIT, MAX_MATCHES))

    def levels(self, codes: Catalogue) -> list[str]:
        """Return the levels that candidates must be of, each once; none for any level.

        Raises:
            ValidationError: there is no such type.
        """
        names = [self.type] if isinstance(self.type, str) else self.type
        by_id = {kind["id"]: level for level, kind in codes.levels.items()}
        if codes.any_code["id"] in names:
            return []
        if not by_id.keys() >= set(names):
            kinds = ", ".join(kind["id"] for kind in codes.types)
            raise ValidationError(f"A query's type is unknown. Send one of {kinds}.")
        return [by_id[name] for name in dict.fromkeys(names)]


class Named(Struct, frozen=True):
    """A property to look up."""

    id: str


class Extension(Struct, frozen=True):
    """A request for the properties of codes."""

    ids: list[str]
    properties: list[Named]


def queries_in(batch: str, most: int) -> dict[str, Query]:
    """Return the queries of a batch, in JSON, by their names; it has at most `most`.

    Raises:
        ValidationError: the batch is not valid.
    """
    queries = read_json(
        _encodable(batch), dict[str, Query], "value of queries", 'Send {"q0": {"query": "..."}}.'
    )
    if len(queries) > most:
        raise ValidationError(
            f"The batch has {len(queries):,} queries. Send {most:,} at most.", 413
        )
    return queries


def extend(request: str, codes: Catalogue) -> dict[str, Any]:
    """Return the values that a request, in JSON, asks for; none for an unknown code.

    Raises:
        ValidationError: the request is not valid.
    """
    example = 'Send {"ids": ["..."], "properties": [{"id": "title"}]}.'
    asked = read_json(_encodable(request), Extension, "value of extend", example)
    if len(asked.ids) > MOST_IDS:
        raise ValidationError(f"There are {len(asked.ids):,} ids. Send {MOST_IDS:,} at most.", 413)
    wanted = {wanted.id: codes.properties.get(wanted.id) for wanted in asked.properties}
    known = {name: extension for name, extension in wanted.items() if extension is not None}
    if len(known) < len(wanted):
        names = ", ".join(codes.properties)
        raise ValidationError(f"A property is unknown. Send some of {names}.")
    rows: dict[str, dict[str, list[dict[str, str]]]] = {}
    for written in asked.ids:
        code = find_code(codes.table, written)
        rows[written] = {
            name: [] if code is None else values(code) for name, (_, _, values) in known.items()
        }
    # Values that are codes have a type, so that they are matched cells.
    meta = [
        {"id": name, "name": title, **({"type": codes.any_code} if are_codes else {})}
        for name, (title, are_codes, _) in known.items()
    ]
    return {"meta": meta, "rows": rows}


def _encodable(text: str) -> bytes:
    """Return JSON with "?" for unpaired surrogates: one in a cell must not refuse all others."""
    with suppress(ValueError, RecursionError):  # else `read_json` says what is wrong
        text = json.dumps(json.loads(text), ensure_ascii=False)
    return text.encode("utf-8", "replace")


def _text(value: Any) -> str:
    """Return a value's text; of a cell that was matched, its name."""
    if isinstance(value, Mapping):
        value = value.get("name", value.get("id"))
    is_text = isinstance(value, str | float | int) and not isinstance(value, bool)
    return str(value) if is_text else ""


Candidate: TypeAlias = dict[str, Any]
"""A candidate as the API writes it."""

CERTAIN = 0.9
"""The confidence from which the best candidate is matched without being asked about."""

DIGITS = 6
"""Decimal places of a sum of confidences; without rounding, .5 + .3 is less than .8."""


def _candidates(
    code: str | None, matches: Iterable[Match], query: Query, codes: Catalogue
) -> list[Candidate]:
    """Return the candidates of a cell, the most confident first; the first may be matched.

    A cell that holds a code is matched if it has all its digits: ``45`` may also be a number of
    something else.
    """
    levels = query.levels(codes)
    if code is None:
        least = CERTAIN
        by_code = {match.code: match.confidence for match in matches if match.code in codes.table}
    else:
        written = "".join(query.text.upper().split()).replace("-", "")
        least = 0.0 if written.startswith(code.replace("-", "")) else inf
        by_code = {code: 1.0}
    best = sorted(_at_levels(by_code, levels, codes).items(), key=lambda item: -item[1])
    return [
        _candidate(candidate, sure, rank == 0 and sure >= least, levels, codes)
        for rank, (candidate, sure) in enumerate(best[: query.most])
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
    code: str, confidence: float, is_match: bool, levels: Sequence[str], codes: Catalogue
) -> Candidate:
    level = codes.table.level(code)
    # Without a wanted level, only the type of all codes: OpenRefine would suggest the most frequent
    # level, and so restrict the candidates to it.
    types = [codes.levels[level], codes.any_code] if levels else [codes.any_code]
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


def _lookups(system: System) -> Iterator[Route]:
    """Yield the routes of a system's look-ups, which need no key and have no limit."""
    by_name: dict[str, Callable[[Request, Catalogue], Response]] = {
        "preview": _preview,
        "properties": _propose_properties,
        "suggest/entity": _suggest_codes,
        "suggest/type": lambda request, codes: _suggest(request, codes.types),
        "suggest/property": lambda request, _: _suggest(request, [MORE_TEXT]),
    }

    def endpoint(look_up: Callable[[Request, Catalogue], Response], request: Request) -> Response:
        return look_up(request, catalogue(system))

    for name, look_up in by_name.items():
        yield Route(f"{RECONCILE}/{system}/{name}", partial(endpoint, look_up))


def _preview(request: Request, codes: Catalogue) -> Response:
    """Return a page about a code, which any other page may frame."""
    code = _code(request, codes)
    below = codes.table.children(code)[:MOST_BELOW]
    page = templates().get_template("preview.html")
    text = page.render(
        code=code,
        title=codes.table.titles[code],
        system=codes.system,
        level=codes.table.level(code),
        path=codes.entities(codes.path(code)[:-1]),
        below=codes.entities(below),
    )
    policy = (
        "default-src 'none'; style-src 'self'; form-action 'none'; base-uri 'none'; "
        "frame-ancestors *"
    )
    headers = {"Content-Security-Policy": policy, "Cross-Origin-Resource-Policy": "cross-origin"}
    return HTMLResponse(text, headers=headers)


def _code(request: Request, codes: Catalogue) -> str:
    code = find_code(codes.table, request.query_params.get("id", ""))
    if code is None:
        raise HTTPException(404)
    return code


def _propose_properties(request: Request, codes: Catalogue) -> Response:
    """Propose properties for new columns; they are the same for all types."""
    kind = request.query_params.get("type", codes.any_code["id"])
    properties = [{"id": name, "name": title} for name, (title, _, _) in codes.properties.items()]
    most = _number(request, "limit", len(properties))
    return JSONResponse({"type": kind, "limit": most, "properties": properties[:most]})


def _suggest_codes(request: Request, codes: Catalogue) -> Response:
    start, end = _page(request)
    suggested = [
        {
            **codes.entity(code),
            "description": f"{code}, {codes.description(code)}",
            "notable": [codes.levels[codes.table.level(code)]],
        }
        for code in codes.search(_typed(request))[start:end]
    ]
    return JSONResponse({"result": suggested})


def _suggest(request: Request, entities: Sequence[Entity]) -> Response:
    typed = _typed(request).casefold()
    entities_found = [
        kind for kind in entities if typed in f"{kind['id']} {kind['name']}".casefold()
    ]
    return JSONResponse({"result": list(islice(entities_found, *_page(request)))})


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


def reconcile_routes(calls: Calls, terms: Terms) -> Iterator[Route]:
    """Yield the routes of all systems."""
    for system in SYSTEMS:
        main = _main(system, calls, terms)
        yield Route(f"{RECONCILE}/{system}", main, methods=["GET", "POST"])
        yield Route(f"{RECONCILE}/{{key}}/{system}", main, methods=["GET", "POST"])
        yield from _lookups(system)


def _main(system: System, calls: Calls, terms: Terms) -> Callable[[Request], Awaitable[Response]]:
    async def main(request: Request) -> Response:
        request.state.system = system
        holder = calls.holder(request.path_params.get("key") or key_of(request))
        if holder is not None:
            request.state.account_id = holder.account_id
        codes = await run_in_threadpool(catalogue, system)
        rate = terms.demo_rate if holder is None else terms.key_rate
        most = MOST_QUERIES if rate is None else min(MOST_QUERIES, rate.slots)
        form = dict(parse_qsl(request.url.query, keep_blank_values=True))
        if request.method == "POST":
            form |= await form_of(request, MAX_BATCH, MAX_FIELDS)
        if "queries" in form:
            queries = queries_in(form["queries"], most)
            return JSONResponse(await _reconcile(request, calls, holder, codes, queries))
        if "extend" in form:
            return JSONResponse(await run_in_threadpool(extend, form["extend"], codes))
        return JSONResponse(_manifest(codes, str(request.base_url).rstrip("/"), most))

    return main


async def _reconcile(
    request: Request,
    calls: Calls,
    holder: Holder | None,
    codes: Catalogue,
    queries: dict[str, Query],
) -> dict[str, Any]:
    """Answer queries. Cells with codes are looked up free of charge; texts are calls."""
    for query in queries.values():
        query.levels(codes)  # a wrong type is refused before anything is charged
    written = {name: find_code(codes.table, query.text) for name, query in queries.items()}
    texts = {
        name: query.text
        for name, query in queries.items()
        if written[name] is None and not description_error(query.text)  # a bad cell fails no other
    }
    try:
        if texts:
            calls.count(holder, request.client.host if request.client else "", len(texts))
    except RateLimitError as error:
        if error.wait > PATIENCE:
            error.headers = {}
        raise
    answered = await calls.answer_all(holder, codes.system, list(texts.values()))
    if answered:
        request.state.price_usd = total(answer.price.final for answer in answered)
    matches = {name: answer.matches for name, answer in zip(texts, answered, strict=True)}
    return {
        name: {"result": _candidates(written[name], matches.get(name, ()), query, codes)}
        for name, query in queries.items()
    }
