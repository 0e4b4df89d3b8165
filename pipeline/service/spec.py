"""What the service says of itself: its settings, errors, example answers, and OpenAPI 3.1.

`pipeline.service.http.messages` reads and writes the bodies; tests compare both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, TypeAlias

from pipeline.answers import SYSTEMS, Match, System
from pipeline.rate import AUTHENTICATED, DEMO, Rate
from pipeline.service.errors import SCHEME, error_type
from pipeline.service.http.messages import (
    ENDPOINTS,
    JSON,
    MAX_BODY,
    MAX_CHARACTERS,
    SUCCESS,
    Metadata,
    parse_exactly,
    success,
    write_json,
)
from pipeline.service.http.protocol import MAX_HEAD, SLOWEST
from pipeline.service.pricing import HIGHEST, LOWEST, MARKUP_PERCENTAGE, MAX_MATCHES, price
from pipeline.versions import VERSIONS

Form: TypeAlias = Literal["detailed", "compact"]
"""A form of the metadata."""

SYSTEM_NAMES: dict[System, str] = {
    "cpv": "Common Procurement Vocabulary",
    "psc": "Product and Service Codes",
    "unspsc": "United Nations Standard Products and Services Code",
    "naics": "North American Industry Classification System",
}

DESCRIPTION = "Cleaning of school buildings"

MATCHES: dict[System, tuple[Match, ...]] = {
    "cpv": (
        Match("90919300", "School cleaning services", 0.5237),
        Match("90910000", "Cleaning services", 0.2342),
    ),
    "psc": (
        Match("S201", "Housekeeping: custodial janitorial", 0.4701),
        Match("S214", "Housekeeping: carpet laying/cleaning", 0.098),
    ),
    "unspsc": (
        Match("76111500", "General building and office cleaning and maintenance services", 0.366),
        Match("76110000", "Cleaning and janitorial services", 0.3185),
    ),
    "naics": (
        Match("561720", "Janitorial Services", 0.3089),
        Match("562910", "Remediation Services", 0.1934),
    ),
}
"""Answers like the engine's, whose confidences change with its models."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The settings of a deployment.

    Attributes:
        metadata: the form of the metadata in responses.
        key_rate: the limit of each account; None for no limit.
        demo_rate: the limit of each address without a key; None for no limit.
    """

    metadata: Metadata = "detailed"
    key_rate: Rate | None = AUTHENTICATED
    demo_rate: Rate | None = DEMO

    @property
    def forms(self) -> tuple[Form, ...]:
        """The forms of the metadata that responses can have."""
        return ("detailed", "compact") if self.metadata == "mixed" else (self.metadata,)


@dataclass(frozen=True, slots=True)
class Failure:
    """An error response, which costs nothing: what is wrong, and what to do then.

    Some answer only requests to another path or method than that of a call.
    """

    status: int
    when: str
    then: str
    of_a_call: bool = True

    @property
    def error(self) -> str:
        """The type of the error."""
        return error_type(self.status)


FAILURES = (
    Failure(
        400,
        "The body is not a JSON object in UTF-8, or has no description of 1 to "
        f"{MAX_CHARACTERS:,} characters that are not all white space.",
        "Correct the request; the same one will always be refused.",
    ),
    Failure(
        401, "The X-API-Key is unknown or revoked.", "Send another key, or none for a demo request."
    ),
    Failure(
        402,
        "The balance of the account does not cover the price of the answer.",
        "Ask the operator to top up the balance.",
    ),
    Failure(
        404,
        "There is nothing at this path.",
        "Check the address; it has no slash at the end.",
        of_a_call=False,
    ),
    Failure(
        405,
        "The path does not take this method.",
        "Use a method in the Allow header.",
        of_a_call=False,
    ),
    Failure(408, f"The request took more than {SLOWEST:g} seconds to arrive.", "Send it again."),
    Failure(413, f"The body has more than {MAX_BODY:,} bytes.", "Shorten the description."),
    Failure(
        415,
        f"Content-Type is not {JSON}, or the body is compressed.",
        f"Send uncompressed JSON with Content-Type: {JSON}.",
    ),
    Failure(
        429,
        "Too many requests from this account, or from this address without a key.",
        "Wait for the seconds in the Retry-After header.",
    ),
    Failure(
        431,
        f"The request line and the headers have more than {MAX_HEAD:,} bytes.",
        "Send fewer or shorter headers.",
    ),
    Failure(500, "The service failed.", "Try again later."),
    Failure(
        503,
        "There are too many connections, or the accounts cannot be used.",
        "Try again in a moment.",
    ),
)
"""All error responses, by status."""


def response(system: System, form: Metadata) -> bytes:
    """Return the body of a response with matches."""
    return success(system, DESCRIPTION, MATCHES[system], price(MATCHES[system]), form)


Schema: TypeAlias = dict[str, Any]

NOT_BLANK = (
    r"[^\u0009-\u000d\u001c-\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
)
"""A character that Python does not count as white space; regex dialects differ on that."""


def _object(description: str, **properties: Schema) -> Schema:
    """Return the schema of an object that has exactly these properties."""
    return {
        "type": "object",
        "description": description,
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _text(description: str, **bounds: Any) -> Schema:
    return {"type": "string", "description": description, **bounds}


def _usd(high: Decimal, description: str) -> Schema:
    return {
        "type": "number",
        "minimum": 0,
        "maximum": high,
        "description": f"{description}, US dollars; 0 without a key.",
    }


REQUEST: Schema = {
    "type": "object",
    "description": "The description to classify; other names are ignored.",
    "properties": {
        "description": _text(
            "What is to be bought, in any language; not only white space.",
            minLength=1,
            maxLength=MAX_CHARACTERS,
            pattern=NOT_BLANK,
            examples=[DESCRIPTION],
        )
    },
    "required": ["description"],
}

METADATA: dict[Form, Schema] = {
    "detailed": _object(
        "The detailed form: the parts of the price.",
        costBreakdown=_object(
            "The price of the call.",
            apiCost=_usd(HIGHEST.base, "The base price"),
            markupPercentage={
                "type": "integer",
                "const": MARKUP_PERCENTAGE,
                "description": "The markup in percent.",
            },
            markupAmount=_usd(HIGHEST.markup, "The markup"),
            finalCost=_usd(HIGHEST.final, "The amount charged: base price and markup"),
            currency=_text("The currency.", const="USD"),
        ),
    ),
    "compact": _object(
        "The compact form: the price.",
        cost=_object(
            "The price of the call.",
            apiCost=_usd(HIGHEST.final, "The amount charged"),
        ),
    ),
}

HEALTH = _object("The service takes requests.", status=_text("Always ok.", const="ok"))


def answer_schema(form: Form) -> Schema:
    """Return the schema of the body of an answered call."""
    match = {
        "code": _text("The code.", minLength=1),
        "title": _text("The code's title.", minLength=1),
        "confidence": {
            "type": "number",
            "minimum": 0,
            "maximum": 1,
            "description": "How sure the match is, as a fraction.",
        },
        "codeType": _text("The system, in lower case.", enum=list(SYSTEMS)),
    }
    if form == "detailed":
        match["cost"] = {
            "type": "number",
            "minimum": 0,
            "maximum": HIGHEST.base,
            "description": "The match's share of the base price, US dollars. Shares add up to it.",
        }
    return _object(
        "The matches.",
        success={"type": "boolean", "const": True},
        message=_text("Always the same.", const=SUCCESS),
        data={
            "type": "array",
            "maxItems": MAX_MATCHES,
            "items": _object("One candidate code.", **match),
            "description": "The matches, best first; possibly none.",
        },
        metadata=METADATA[form],
    )


FAILURE = _object(
    "An error; nothing is charged.",
    success={"type": "boolean", "const": False},
    error=_text("The type of the error.", enum=sorted({one.error for one in FAILURES})),
    message=_text("What is wrong and what to do about it.", minLength=1),
)


def fields_of(schema: Schema, within: str = "") -> Iterator[tuple[str, Schema]]:
    """Yield the fields of an object and of the objects in it, each by its path."""
    for name, field in schema["properties"].items():
        listed = field.get("type") == "array"
        inner = field["items"] if listed else field
        path = f"{within}{name}{'[]' if listed else ''}"
        if "properties" not in inner or listed:
            yield path, field
        if "properties" in inner:
            yield from fields_of(inner, f"{path}.")


KEY = {
    "type": "apiKey",
    "in": "header",
    "name": "X-API-Key",
    "description": "The key of an account. A request without the header is a demo request.",
}

HEADERS: dict[int, tuple[str, str, Schema]] = {
    401: (
        "WWW-Authenticate",
        "The scheme of the header X-API-Key.",
        {"type": "string", "const": SCHEME},
    ),
    429: (
        "Retry-After",
        "Seconds until the next request would be taken.",
        {"type": "integer", "minimum": 1},
    ),
}
"""The header of an error, by its status."""


def describe_api(terms: Terms) -> bytes:
    """Return the OpenAPI document of a deployment, as JSON."""
    schemas = {"MatchRequest": REQUEST, "Health": HEALTH, "Failure": FAILURE}
    schemas |= {_answer_name(form): answer_schema(form) for form in terms.forms}
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
    rates = {"an account": terms.key_rate, "an address without a key": terms.demo_rate}
    limits = [f"{rate} of {whom}" for whom, rate in rates.items() if rate is not None]
    stated = " and ".join(limits) or "any number"
    return (
        f"Returns at most {MAX_MATCHES} codes for the description of a tender, the most confident "
        "first, always in the same order. "
        f"An answered call costs {LOWEST.final} to {HIGHEST.final} USD, the same for the same "
        f"answer; errors cost nothing. Rate limits: {stated}, in any window of that "
        f"length. A body has at most {MAX_BODY:,} bytes. See /docs for more."
    )


def _call(system: System, terms: Terms) -> dict[str, Any]:
    answer = {
        "schema": {"anyOf": [_reference(_answer_name(form)) for form in terms.forms]},
        "examples": {
            form: {"value": parse_exactly(response(system, form))} for form in terms.forms
        },
    }
    request = {"schema": _reference("MatchRequest"), "example": {"description": DESCRIPTION}}
    return {
        "operationId": f"match_{system}",
        "tags": ["Matching"],
        "summary": f"Match a description to {system.upper()} codes",
        "description": f"{SYSTEM_NAMES[system]}. Only answered calls are charged.",
        "requestBody": {"required": True, "content": {JSON: request}},
        "responses": {
            "200": {"description": "The matches and the price.", "content": {JSON: answer}},
            **{
                str(failure.status): _describe_failure(failure)
                for failure in FAILURES
                if failure.of_a_call
            },
        },
        "security": [{}, {"ApiKey": []}],
    }


def _health() -> dict[str, Any]:
    content = {JSON: {"schema": _reference("Health")}}
    failures = [failure for failure in FAILURES if failure.status in (408, 431, 500, 503)]
    return {
        "operationId": "health",
        "tags": ["Operation"],
        "summary": "Check whether the service takes requests",
        "responses": {
            "200": {"description": "The service takes requests.", "content": content},
            **{str(failure.status): _describe_failure(failure) for failure in failures},
        },
    }


def _describe_failure(failure: Failure) -> dict[str, Any]:
    described: dict[str, Any] = {
        "description": f"{failure.when} {failure.then}",
        "content": {JSON: {"schema": _reference("Failure")}},
    }
    if failure.status in HEADERS:
        name, description, schema = HEADERS[failure.status]
        header = {"description": description, "required": True, "schema": schema}
        described["headers"] = {name: header}
    return described


def _answer_name(form: Form) -> str:
    return f"{form.capitalize()}Answer"


def _reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}
