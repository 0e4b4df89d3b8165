"""The bodies of requests and responses as pydantic models, for /openapi.json only.

`pipeline.service.http.bodies` reads and writes the bodies, with exact decimals. Tests compare both.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.alias_generators import to_camel

from pipeline.answers import System
from pipeline.service.http.bodies import MAX_CHARACTERS, SUCCESS
from pipeline.service.matching.pricing import HIGHEST, LOWEST, MARKUP_PERCENTAGE, MAX_MATCHES
from pipeline.service.spec.examples import DESCRIPTION
from pipeline.service.spec.terms import Failure, Form

__all__ = ["Health", "MatchRequest", "answer_model", "failure_model"]

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


def _constant(value: str | int, **more: Any) -> Any:
    return Field(json_schema_extra={"const": value}, **more)


class _Exact(BaseModel):
    model_config = ConfigDict(extra="forbid", alias_generator=to_camel)


class MatchRequest(BaseModel):
    """The description to classify; other names are ignored."""

    description: str = Field(
        min_length=1,
        max_length=MAX_CHARACTERS,
        pattern=NOT_BLANK,
        description="What is to be bought, in any language; not only white space.",
        examples=[DESCRIPTION],
    )


class _Match(_Exact):
    code: str
    title: str = Field(min_length=1, description="The code's title.")
    confidence: float = Field(ge=0, le=1, description="How sure the match is, as a fraction.")
    code_type: str


class CostBreakdown(_Exact):
    """The price of the call."""

    api_cost: float = Field(
        ge=float(LOWEST.base), le=float(HIGHEST.base), description="The base price, US dollars."
    )
    markup_percentage: int = _constant(MARKUP_PERCENTAGE, description="The markup in percent.")
    markup_amount: float = Field(
        ge=float(LOWEST.markup), le=float(HIGHEST.markup), description="The markup, US dollars."
    )
    final_cost: float = Field(
        ge=float(LOWEST.final),
        le=float(HIGHEST.final),
        description="The amount charged, US dollars: base price and markup.",
    )
    currency: Literal["USD"]


class Cost(_Exact):
    """The price of the call."""

    api_cost: float = Field(
        ge=float(LOWEST.final),
        le=float(HIGHEST.final),
        description="The amount charged, US dollars.",
    )


class DetailedMetadata(_Exact):
    """The detailed form: the parts of the price."""

    cost_breakdown: CostBreakdown


class CompactMetadata(_Exact):
    """The compact form: the price."""

    cost: Cost


class _Answer(_Exact):
    success: Literal[True]
    message: str = _constant(SUCCESS)


class _Failure(_Exact):
    success: Literal[False]
    error: str
    message: str = Field(min_length=1, description="What is wrong and what to do about it.")


class Health(_Exact):
    """The service takes requests."""

    status: Literal["ok"]


@cache
def answer_model(system: System, form: Form) -> type[BaseModel]:
    """Return the body of a successful call."""
    name = f"{system.capitalize()}{form.capitalize()}"
    match form:
        case "detailed":
            cost: dict[str, Any] = {"cost": (float, _share())}
            metadata: type[BaseModel] = DetailedMetadata
        case "compact":
            cost, metadata = {}, CompactMetadata
    fields: dict[str, Any] = {
        "code": (str, Field(pattern=CODES[system], description="The code.")),
        "code_type": (str, _constant(system, description="The system, in lower case.")),
        **cost,
    }
    item = create_model(f"{name}Match", __base__=_Match, __doc__="One candidate code.", **fields)
    data = Field(max_length=MAX_MATCHES, description="The matches, best first; possibly none.")
    body: dict[str, Any] = {"data": (list[item], data), "metadata": (metadata, ...)}  # type: ignore[valid-type]
    return create_model(f"{name}Answer", __base__=_Answer, __doc__="The matches.", **body)


def failure_model(failure: Failure) -> type[BaseModel]:
    """Return the body of a failed call."""
    return _failure_model(failure.error)


@cache
def _failure_model(error: str) -> type[BaseModel]:
    name = "".join(word.capitalize() for word in error.split("_"))
    field: Any = (str, _constant(error, description="The type of the error."))
    return create_model(
        name.removesuffix("Error") + "Failure",
        __base__=_Failure,
        __doc__="An error; nothing is charged.",
        error=field,
    )


def _share() -> Any:
    return Field(
        gt=0,
        le=float(HIGHEST.base),
        description="The match's share of the base price, US dollars; all shares add up to it.",
    )
