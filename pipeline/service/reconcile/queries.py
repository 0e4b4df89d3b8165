"""Reads batches of reconciliation queries, and writes responses that any page can read (CORS)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from pipeline.service.errors import ValidationError
from pipeline.service.http.messages import JSON, RECONCILE, parse_json
from pipeline.service.matching.pricing import MAX_MATCHES
from pipeline.service.reconcile.catalogue import Catalogue

__all__ = ["MORE_TEXT", "AnyOrigin", "Query", "json_response", "queries_in", "refuse_jsonp"]


SECONDS = 600
"""How long a browser may keep the answer to a preflight request."""


def json_response(content: Any) -> Response:
    """Return JSON in ASCII, which may quote unpaired surrogates of the request."""
    return Response(json.dumps(content), media_type=JSON)


def refuse_jsonp(request: Request) -> None:
    """Refuse to write a script, which would run in the page that asks.

    Raises:
        ValidationError: the request asks for one.
    """
    if "callback" in request.query_params:
        raise ValidationError("There is no JSONP here. Leave callback out: CORS allows any origin.")


class AnyOrigin:
    """Adds the CORS headers to the responses of the Reconciliation API, also to errors.

    The other paths stay closed to other origins: they have cookies, these have none.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._open = CORSMiddleware(
            app,
            allow_origins=["*"],
            allow_methods=["GET", "POST"],
            allow_headers=["X-API-Key"],
            expose_headers=["Retry-After", "X-Request-ID"],
            max_age=SECONDS,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        is_open = scope["type"] == "http" and scope["path"].startswith(f"{RECONCILE}/")
        await (self._open if is_open else self._app)(scope, receive, send)


MORE_TEXT = {"id": "text", "name": "more text"}
"""The property with further text about what is bought."""

EXAMPLE = 'Send {"q0": {"query": "..."}}.'

USUAL_LIMIT = 5
"""How many candidates a query gets that does not say."""

STRICTNESS = ("any", "should", "all")


@dataclass(frozen=True, slots=True)
class Query:
    """A query: the text of a cell and further columns, and the levels that candidates must be of.

    Without levels, codes of any level are candidates.
    """

    text: str
    levels: Sequence[str]
    limit: int


def queries_in(batch: str, codes: Catalogue, most: int) -> dict[str, Query]:
    """Return the queries of a batch, in JSON, by their names; it has at most `most`.

    Raises:
        ValidationError: the batch is not valid.
    """
    queries = parse_json(batch, "value of queries", EXAMPLE)
    if not isinstance(queries, dict):
        raise ValidationError(f"The value of queries is not a JSON object. {EXAMPLE}")
    if len(queries) > most:
        raise ValidationError(
            f"The batch has {len(queries):,} queries. Send {most:,} at most.", 413
        )
    return {name: _query(query, codes) for name, query in queries.items()}


def _query(query: Any, codes: Catalogue) -> Query:
    if not isinstance(query, dict):
        raise ValidationError(f"A query is not a JSON object. {EXAMPLE}")
    text = query.get("query", "")
    if not isinstance(text, str):
        raise ValidationError(f"A query's text is not a string. {EXAMPLE}")
    if "query" not in query and not query.get("properties"):
        raise ValidationError(f"A query has neither text nor properties. {EXAMPLE}")
    if query.get("type_strict", "any") not in STRICTNESS:
        raise ValidationError(f"type_strict is unknown. Send one of {', '.join(STRICTNESS)}.")
    parts = [text, *_texts(query.get("properties", []))]
    joined = ". ".join(filter(None, (" ".join(part.split()) for part in parts)))
    return Query(joined, _levels(query.get("type", []), codes), _limit(query.get("limit")))


def _levels(types: Any, codes: Catalogue) -> list[str]:
    """Return the levels that types name, each once; none if they include the type of all codes."""
    names = [types] if isinstance(types, str) else types
    if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise ValidationError("A query's type is not a string. Send the id of a type.")
    by_id = {kind["id"]: level for level, kind in codes.levels.items()}
    if codes.any_code["id"] in names:
        return []
    if not all(name in by_id for name in names):
        known = ", ".join(kind["id"] for kind in codes.types)
        raise ValidationError(f"A query's type is unknown. Send one of {known}.")
    return [by_id[name] for name in dict.fromkeys(names)]


def _limit(limit: Any) -> int:
    if limit is None:
        return USUAL_LIMIT
    if isinstance(limit, bool) or not isinstance(limit, float) or limit < 1:
        raise ValidationError("A query's limit is not a number of 1 or more. Leave it out.")
    return int(min(limit, MAX_MATCHES))


def _texts(properties: Any) -> list[str]:
    """Return the values of the property with further text; others are ignored."""
    if not isinstance(properties, list):
        raise ValidationError('The properties of a query are not an array of {"pid", "v"}.')
    texts: list[str] = []
    for each in properties:
        if not (isinstance(each, dict) and isinstance(each.get("pid"), str) and "v" in each):
            raise ValidationError('A property of a query is not an object of "pid" and "v".')
        if each["pid"] == MORE_TEXT["id"]:
            values = each["v"] if isinstance(each["v"], list) else [each["v"]]
            texts += map(_text, values)
    return texts


def _text(value: Any) -> str:
    """Return a value's text; of a cell that was matched, its name."""
    if isinstance(value, Mapping):
        value = value.get("name", value.get("id"))
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}"
    return str(value) if isinstance(value, str | float) else ""
