"""Answers queries and extensions, for the accounts and within the limits of the service."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pipeline.answers import SYSTEMS, System
from pipeline.money import total
from pipeline.service.accounts import Holder
from pipeline.service.errors import RateLimitError, ValidationError
from pipeline.service.http.bodies import checked_description
from pipeline.service.http.paths import RECONCILE
from pipeline.service.http.requests import form_of, key_of
from pipeline.service.matching.calls import Calls
from pipeline.service.reconcile.candidates import Candidate, of_code, of_matches
from pipeline.service.reconcile.catalogue import Catalogue, catalogue
from pipeline.service.reconcile.extension import extended
from pipeline.service.reconcile.lookups import lookups
from pipeline.service.reconcile.manifest import service_manifest
from pipeline.service.reconcile.queries import Query, queries_in
from pipeline.service.reconcile.responses import json_response, refuse_jsonp
from pipeline.service.spec.terms import Terms

__all__ = ["reconcile_routes"]

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
            del error.headers["Retry-After"]
        raise
