"""The JSON Schemas of the API's bodies, for /openapi.json.

`pipeline.service.http.messages` reads and writes the bodies; tests compare both.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, TypeAlias

from pipeline.answers import System
from pipeline.service.http.messages import MAX_CHARACTERS, SUCCESS
from pipeline.service.matching.pricing import HIGHEST, MARKUP_PERCENTAGE, MAX_MATCHES
from pipeline.service.spec.terms import DESCRIPTION, Failure, Form

__all__ = ["CODES", "HEALTH", "NOT_BLANK", "REQUEST", "answer_schema", "failure_schema"]

Schema: TypeAlias = dict[str, Any]

CODES: dict[System, str] = {
    "cpv": "^[0-9]{8}$",
    "psc": "^[0-9A-Z]{1,4}$",
    "unspsc": "^[0-9]{8}$",
    "naics": "^([0-9]{2,6}|[0-9]{2}-[0-9]{2})$",
}

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


def answer_schema(system: System, form: Form) -> Schema:
    """Return the schema of the body of an answered call."""
    match = {
        "code": _text("The code.", pattern=CODES[system]),
        "title": _text("The code's title.", minLength=1),
        "confidence": {
            "type": "number",
            "minimum": 0,
            "maximum": 1,
            "description": "How sure the match is, as a fraction.",
        },
        "codeType": _text("The system, in lower case.", const=system),
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


def failure_schema(failure: Failure) -> Schema:
    """Return the schema of the body of an error."""
    return _object(
        "An error; nothing is charged.",
        success={"type": "boolean", "const": False},
        error=_text("The type of the error.", const=failure.error),
        message=_text("What is wrong and what to do about it.", minLength=1),
    )
