"""Describes the API of a deployment in OpenAPI 3.1."""

from __future__ import annotations

from typing import Any

from pipeline.answers import SYSTEMS, System
from pipeline.service.errors import SCHEME
from pipeline.service.http.messages import (
    ENDPOINTS,
    JSON,
    MAX_BODY,
    failure,
    parse_exactly,
    write_json,
)
from pipeline.service.matching.pricing import HIGHEST, LOWEST, MAX_MATCHES
from pipeline.service.spec.schemas import HEALTH, REQUEST, answer_schema, failure_schema
from pipeline.service.spec.terms import (
    DESCRIPTION,
    FAILURES,
    SYSTEM_NAMES,
    Failure,
    Form,
    Terms,
    nothing_found,
    response,
)
from pipeline.versions import VERSIONS

__all__ = ["described"]

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


def described(terms: Terms) -> bytes:
    """Return the OpenAPI document of a deployment, as JSON."""
    schemas = {"MatchRequest": REQUEST, "Health": HEALTH}
    schemas |= {_failure_name(one): failure_schema(one) for one in FAILURES}
    for system in SYSTEMS:
        for form in terms.forms:
            schemas[_answer_name(system, form)] = answer_schema(system, form)
    document = {
        "openapi": "3.1.0",
        "info": {
            "title": "tender-pipeline",
            "summary": "Tenders in, procurement codes out.",
            "description": _about(terms),
            "version": VERSIONS["tender-pipeline"],
        },
        "paths": {
            **{path: {"post": _call(system, terms)} for path, system in ENDPOINTS.items()},
            "/health": {"get": _health()},
        },
        "components": {"schemas": schemas, "securitySchemes": {"ApiKey": KEY}},
        "tags": [{"name": "Matching"}, {"name": "Operation"}],
    }
    return write_json(document)


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


def _call(system: System, terms: Terms) -> dict[str, Any]:
    forms = [_reference(_answer_name(system, form)) for form in terms.forms]
    answer = {"schema": {"anyOf": forms}, "examples": _answers(system, terms)}
    request = {"schema": _reference("MatchRequest"), "example": {"description": DESCRIPTION}}
    return {
        "operationId": f"match_{system}",
        "tags": ["Matching"],
        "summary": f"Match a description to {system.upper()} codes",
        "description": f"{SYSTEM_NAMES[system]}. Only answered calls are charged.",
        "requestBody": {"required": True, "content": {JSON: request}},
        "responses": {
            "200": {"description": "The matches and the price.", "content": {JSON: answer}},
            **{str(one.status): _failed(one) for one in FAILURES if one.of_a_call},
        },
        "security": [{}, {"ApiKey": []}],
    }


def _health() -> dict[str, Any]:
    content = {JSON: {"schema": _reference("Health")}}
    failures = [one for one in FAILURES if one.status in (408, 431, 500, 503)]
    return {
        "operationId": "health",
        "tags": ["Operation"],
        "summary": "Check whether the service takes requests",
        "responses": {
            "200": {"description": "The service takes requests.", "content": content},
            **{str(one.status): _failed(one) for one in failures},
        },
    }


def _answers(system: System, terms: Terms) -> dict[str, Any]:
    """Return examples in each form of the metadata that the deployment uses."""
    return {
        f"{form}{kind}": {
            "summary": f"{summary} ({form})",
            "value": parse_exactly(body(system, form)),
        }
        for form in terms.forms
        for kind, summary, body in (
            ("", "Matches", response),
            ("NothingFound", "No matches", nothing_found),
        )
    }


def _failed(one: Failure) -> dict[str, Any]:
    example = parse_exactly(failure(one.error, one.example))
    return {
        "description": f"{one.when} {one.then}",
        "content": {JSON: {"schema": _reference(_failure_name(one)), "example": example}},
        **({"headers": HEADERS[one.status]} if one.status in HEADERS else {}),
    }


def _answer_name(system: System, form: Form) -> str:
    return f"{system.capitalize()}{form.capitalize()}Answer"


def _failure_name(one: Failure) -> str:
    name = "".join(word.capitalize() for word in one.error.split("_"))
    return name.removesuffix("Error") + "Failure"


def _reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}
