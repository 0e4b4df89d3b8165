"""Describes the API of a deployment in OpenAPI 3.1."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import simplejson
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from starlette.routing import BaseRoute

from pipeline.answers import System
from pipeline.classification.provenance import VERSIONS
from pipeline.service.errors import SCHEME
from pipeline.service.http.bodies import failure
from pipeline.service.http.requests import JSON, MAX_BODY
from pipeline.service.matching.pricing import HIGHEST, LOWEST, MAX_MATCHES
from pipeline.service.spec.examples import DESCRIPTION, nothing_found, response
from pipeline.service.spec.models import Health, MatchRequest, answer_model, failure_model
from pipeline.service.spec.terms import FAILURES, SYSTEM_NAMES, Failure, Terms

__all__ = ["HEALTH", "described", "operation"]

KEY = {
    "type": "apiKey",
    "in": "header",
    "name": "X-API-Key",
    "description": "The key of an account. A request without the header is a demo request.",
}

HEADERS: dict[int, dict[str, Any]] = {
    401: {
        "WWW-Authenticate": {
            "description": "The scheme of the header X-API-Key.",
            "required": True,
            "schema": {"type": "string", "const": SCHEME},
        }
    },
    429: {
        "Retry-After": {
            "description": "Seconds until the next request would be taken.",
            "required": True,
            "schema": {"type": "integer", "minimum": 1},
        }
    },
    503: {
        "Retry-After": {
            "description": "Seconds to wait, if there are too many connections.",
            "schema": {"type": "integer", "minimum": 1},
        }
    },
}


def operation(system: System, terms: Terms) -> dict[str, Any]:
    """Return the description of an endpoint, as arguments of `FastAPI.post`."""
    forms = [answer_model(system, form) for form in terms.forms]
    model: Any = forms[0] if len(forms) == 1 else forms[0] | forms[1]
    failures = {one.status: _failed(one) for one in FAILURES if one.of_a_call}
    return {
        "operation_id": f"match_{system}",
        "tags": ["Matching"],
        "summary": f"Match a description to {system.upper()} codes",
        "description": f"{SYSTEM_NAMES[system]}. Only answered calls are charged.",
        "response_model": model,
        "response_description": "The matches and the price.",
        "responses": {200: {"content": {JSON: {"examples": _answers(system, terms)}}}, **failures},
        "openapi_extra": {"requestBody": _request(), "security": [{}, {"ApiKey": []}]},
    }


def described(routes: Sequence[BaseRoute], terms: Terms) -> bytes:
    """Return the OpenAPI document of routes, as JSON."""
    document = get_openapi(
        title="tender-pipeline",
        version=VERSIONS["tender-pipeline"],
        summary="Tenders in, procurement codes out.",
        description=_about(terms),
        routes=routes,
        tags=[{"name": "Matching"}, {"name": "Operation"}],
    )
    components = document["components"]
    components["schemas"] |= _own_schema(MatchRequest)
    components["securitySchemes"] = {"ApiKey": KEY}
    # Through text, so that no amount is written with an exponent.
    plain = json.loads(json.dumps(document), parse_float=Decimal)
    return simplejson.dumps(plain, ensure_ascii=False, use_decimal=True).encode()


def _about(terms: Terms) -> str:
    """Return the text about what a schema cannot express."""
    limits = [f"{rate} of {whom}" for rate, whom in terms.limits if rate is not None] or [
        "any number"
    ]
    return (
        f"Returns at most {MAX_MATCHES} codes for the description of a tender, the most confident "
        "first, always in the same order. "
        f"An answered call costs {LOWEST.final} to {HIGHEST.final} USD, the same for the same "
        f"answer; errors cost nothing. Rate limits: {' and '.join(limits)}, in any window of that "
        f"length. A body has at most {MAX_BODY:,} bytes. See /docs for more."
    )


def _own_schema(model: type[BaseModel]) -> dict[str, Any]:
    return {model.__name__: model.model_json_schema()}


def _request() -> dict[str, Any]:
    content = {
        "schema": {"$ref": f"#/components/schemas/{MatchRequest.__name__}"},
        "example": {"description": DESCRIPTION},
    }
    return {"required": True, "content": {JSON: content}}


def _answers(system: System, terms: Terms) -> dict[str, Any]:
    """Return examples in each form of the metadata that the deployment uses."""
    return {
        f"{form}{kind}": {"summary": f"{summary} ({form})", "value": json.loads(body(system, form))}
        for form in terms.forms
        for kind, summary, body in (
            ("", "Matches", response),
            ("NothingFound", "No matches", nothing_found),
        )
    }


def _failed(one: Failure) -> dict[str, Any]:
    example = json.loads(failure(one.error, one.example))
    return {
        "model": failure_model(one),
        "description": f"{one.when} {one.then}",
        "content": {JSON: {"example": example}},
        **({"headers": HEADERS[one.status]} if one.status in HEADERS else {}),
    }


HEALTH: dict[str, Any] = {
    "operation_id": "health",
    "tags": ["Operation"],
    "summary": "Check whether the service takes requests",
    "response_model": Health,
    "response_description": "It does.",
    "responses": {
        one.status: _failed(one) for one in FAILURES if one.status in (408, 431, 500, 503)
    },
}
"""The description of `/health`, as arguments of `FastAPI.get`."""
