"""The rules of the Reconciliation API 0.2 for what a service sends, as JSON schemas.

They state what sections 3 to 6 of the report of the W3C Community Group require of 10 April 2023:
https://www.w3.org/community/reports/reconciliation/CG-FINAL-specs-0.2-20230410/
"""

from __future__ import annotations

from typing import Any

import jsonschema_rs

STRING = {"type": "string"}
URL = {"type": "string", "pattern": "^https?://"}
WITH_ID = {"type": "string", "pattern": r"^https?://.*\{\{id\}\}"}


def made_of(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    """Return the schema of an object that has nothing else."""
    return {
        "type": "object",
        "properties": {**required, **optional},
        "required": list(required),
        "additionalProperties": False,
    }


def each(item: Any) -> dict[str, Any]:
    return {"type": "array", "items": item}


def by_name(value: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": value}


ENTITY = made_of({"id": STRING, "name": STRING}, description=STRING)
KIND = made_of({"id": STRING, "name": STRING})
SUGGEST_SERVICE = made_of({"service_url": URL, "service_path": STRING})

MANIFEST = made_of(
    {
        "versions": {**each(STRING), "contains": {"const": "0.2"}},
        "name": STRING,
        "identifierSpace": URL,
        "schemaSpace": URL,
    },
    documentation=URL,
    serviceVersion=STRING,
    defaultTypes={**each(KIND), "uniqueItems": True},
    view=made_of({"url": WITH_ID}),
    preview=made_of({"url": WITH_ID, "width": {"type": "integer"}, "height": {"type": "integer"}}),
    suggest=made_of({}, entity=SUGGEST_SERVICE, property=SUGGEST_SERVICE, type=SUGGEST_SERVICE),
    extend=made_of(
        {"propose_properties": made_of({"service_url": URL, "service_path": STRING})},
        property_settings=each(False),
    ),
    batchSize={"type": "integer", "minimum": 1},  # of the drafts after 0.2, which allows more
)

CANDIDATE = made_of(
    {"id": STRING, "name": STRING, "score": {"type": "number"}},
    description=STRING,
    match={"type": "boolean"},
    type=each(KIND),
    features=each(made_of({"id": STRING, "value": {"type": ["number", "boolean"]}})),
)

RESULTS = by_name(made_of({"result": each(CANDIDATE)}))

SUGGESTIONS = made_of(
    {"result": each({**ENTITY, "properties": {**ENTITY["properties"], "notable": each(KIND)}})}
)

CELL = {"anyOf": [ENTITY, made_of({"str": STRING})]}

EXTENSION = made_of(
    {
        "meta": each(made_of({"id": STRING, "name": STRING}, type=KIND)),
        "rows": by_name(by_name(each(CELL))),
    }
)

PROPOSALS = made_of({"type": STRING, "limit": {"type": "integer"}, "properties": each(KIND)})


def check(schema: dict[str, Any], content: Any) -> None:
    """Require that content is as the specification says.

    Raises:
        jsonschema_rs.ValidationError: it is not.
    """
    jsonschema_rs.validator_for(schema).validate(content)
