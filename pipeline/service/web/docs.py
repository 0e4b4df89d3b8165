"""The pages that describe the service: the home page and the documentation."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
from starlette.responses import Response

from pipeline.service.accounts import STARTING_BALANCE
from pipeline.service.http.messages import MAX_BODY, MAX_CHARACTERS, failure
from pipeline.service.pricing import (
    HIGHEST,
    LOWEST,
    MARKUP_PERCENTAGE,
    MAX_MATCHES,
    MOST_FOR_TITLES,
    PER_CALL,
    PER_MATCH,
    PER_TITLE_CHARACTERS,
    price,
)
from pipeline.service.spec import (
    DESCRIPTION,
    FAILURES,
    MATCHES,
    SYSTEM_NAMES,
    Terms,
    answer_schema,
    fields_of,
    response,
)
from pipeline.service.web.rendering import render
from pipeline.service.web.site import Site, Visitor

CURL = """\
curl {base_url}/api/cpv/match \\
  -H 'Content-Type: application/json' \\
  -H "X-API-Key: $TENDER_PIPELINE_API_KEY" \\
  -d '{{"description": "{description}"}}'"""

FORMULA = f"""\
base price = {PER_CALL} + {PER_MATCH} per match + 1 per {PER_TITLE_CHARACTERS} characters of titles
markup     = {MARKUP_PERCENTAGE} % of the base price
price      = base price + markup"""


def show_home(site: Site, visitor: Visitor) -> Response:
    """Show the home page."""
    return render(visitor, "landing.html", **_call(visitor), **_values(site.terms))


def show_docs(site: Site, visitor: Visitor) -> Response:
    """Show the documentation of the API, with the settings of this deployment."""
    return render(visitor, "docs.html", **_call(visitor), **_values(site.terms))


def _call(visitor: Visitor) -> dict[str, Any]:
    curl = CURL.format(base_url=visitor.base_url, description=DESCRIPTION)
    return {"description": DESCRIPTION, "curl": curl}


@cache
def _values(terms: Terms) -> dict[str, Any]:
    fields = {
        path: field for form in terms.forms for path, field in fields_of(answer_schema("cpv", form))
    }
    return {
        "systems": SYSTEM_NAMES,
        "max_characters": MAX_CHARACTERS,
        "max_body": MAX_BODY,
        "max_matches": MAX_MATCHES,
        "responses": [(form, _indent(response("cpv", form))) for form in terms.forms],
        "fields": fields,
        "failures": FAILURES,
        "failure": _indent(failure(FAILURES[0].status, FAILURES[0].when)),
        "key_rate": terms.key_rate,
        "demo_rate": terms.demo_rate,
        "starting_balance": STARTING_BALANCE,
        "lowest": LOWEST.final,
        "highest": HIGHEST.final,
        "formula": FORMULA,
        "most_for_titles": MOST_FOR_TITLES,
        "example": price(MATCHES["cpv"]),
    }


def _indent(body: bytes) -> str:
    """Indent JSON; numbers keep their digits."""
    return msgspec.json.format(body, indent=2).decode()
