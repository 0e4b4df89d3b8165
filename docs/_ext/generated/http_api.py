"""The HTTP API, from the OpenAPI description of the service."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from typing import Any, cast

import msgspec

from generated.markdown import block, code, table
from pipeline.service.http.messages import write_json
from pipeline.service.spec import Terms, describe_api, fields_of

__all__ = ["description", "examples", "fields", "paths"]

BOUNDS = {
    "minimum": "from {}",
    "exclusiveMinimum": "over {}",
    "maximum": "to {}",
    "minLength": "{:,} character or more",
    "maxLength": "{:,} characters at most",
    "maxItems": "{:,} at most",
}

FORMS = {"Detailed": "Response, `detailed` form", "Compact": "Response, `compact` form"}


@cache
def description() -> dict[str, Any]:
    """Return the description of a deployment that answers in both forms."""
    return cast("dict[str, Any]", json.loads(describe_api(Terms("mixed")), parse_float=Decimal))


def paths() -> str:
    """List the paths."""
    rows = [
        [method.upper(), code(path), operation["summary"]]
        for path, methods in description()["paths"].items()
        for method, operation in methods.items()
    ]
    return table(["method", "path", "what it does"], rows)


def fields() -> str:
    """Describe the request's fields and those of a response in both forms."""
    parts = ["### Request", _fields("MatchRequest")]
    for form, heading in FORMS.items():
        parts += [f"### {heading}", _fields(f"{form}Answer")]
    return "\n\n".join([*parts, "### Error", _fields("Failure")])


def examples() -> str:
    """Show a request and a response in both forms."""
    operation = description()["paths"]["/api/cpv/match"]["post"]
    request = operation["requestBody"]["content"]["application/json"]["example"]
    answers = operation["responses"]["200"]["content"]["application/json"]["examples"]
    parts = ["### An example request", _json(request)]
    for form in ("detailed", "compact"):
        parts += [f"### Its response, `{form}`", _json(answers[form]["value"])]
    return "\n\n".join(parts)


def _fields(name: str) -> str:
    rows = [
        [code(place), _type(schema), schema.get("description", "")]
        for place, schema in fields_of(description()["components"]["schemas"][name])
    ]
    return table(["field", "type", "meaning"], rows)


def _type(schema: Mapping[str, Any]) -> str:
    """Return a field's type with its bounds."""
    if "const" in schema:
        return code(json.dumps(schema["const"]))
    if "enum" in schema:
        return " or ".join(map(code, schema["enum"]))
    bounds = [words.format(schema[key]) for key, words in BOUNDS.items() if key in schema]
    return ", ".join([schema["type"], *bounds])


def _json(value: Any) -> str:
    return block("json", msgspec.json.format(write_json(value), indent=2).decode())
