"""The pages that describe the service: the home page and the documentation."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
from starlette.responses import Response

from pipeline.service.accounts import STARTING_BALANCE
from pipeline.service.http.messages import MAX_BODY, MAX_CHARACTERS, failure
from pipeline.service.matching.pricing import (
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
from pipeline.service.spec.terms import (
    DESCRIPTION,
    FAILURES,
    MATCHES,
    SYSTEM_NAMES,
    Form,
    Terms,
    response,
)
from pipeline.service.web.rendering import render
from pipeline.service.web.site import Site, Visitor

__all__ = ["show_docs", "show_home"]

CURL = """\
curl {base_url}/api/cpv/match \\
  -H 'Content-Type: application/json' \\
  -H "X-API-Key: $TENDER_PIPELINE_API_KEY" \\
  -d '{{"description": "{description}"}}'"""

PYTHON = """\
import json
import os
from decimal import Decimal

import httpx

response = httpx.post(
    "{base_url}/api/cpv/match",
    json={{"description": "{description}"}},
    headers={{"X-API-Key": os.environ["TENDER_PIPELINE_API_KEY"]}},
)
answer = json.loads(response.content, parse_float=Decimal)
if not answer["success"]:
    raise SystemExit(f"{{answer['error']}}: {{answer['message']}}")
for match in answer["data"]:
    print(match["code"], match["title"], match["confidence"])
print(answer["metadata"])"""

COMMAND = "tender-pipeline run tenders.csv --base-url {base_url} --max-cost 2.50"

FORMULA = f"""\
base price = {PER_CALL} + {PER_MATCH} per match + 1 per {PER_TITLE_CHARACTERS} characters of titles
markup     = {MARKUP_PERCENTAGE} % of the base price
price      = base price + markup"""

FIELDS = {
    "success": ("boolean", "true"),
    "message": ("string", "confirms that the call was successful"),
    "data[].code": ("string", "the code, as text"),
    "data[].title": ("string", "the title of the code"),
    "data[].confidence": ("number", "how sure the match is, from 0 to 1"),
    "data[].codeType": ("string", "the system: cpv, psc, unspsc or naics"),
}
METADATA_FIELDS: dict[Form, dict[str, tuple[str, str]]] = {
    "detailed": {
        "data[].cost": ("number", "the match's share of the base price, USD"),
        "metadata.costBreakdown.apiCost": ("number", "the base price of the call, USD"),
        "metadata.costBreakdown.markupPercentage": ("number", "the markup in percent"),
        "metadata.costBreakdown.markupAmount": ("number", "the markup, USD"),
        "metadata.costBreakdown.finalCost": (
            "number",
            "the amount charged: the base price and the markup, USD",
        ),
        "metadata.costBreakdown.currency": ("string", "USD"),
    },
    "compact": {"metadata.cost.apiCost": ("number", "the amount charged, USD")},
}


def show_home(site: Site, visitor: Visitor) -> Response:
    """Show the home page."""
    return render(
        visitor,
        "landing.html",
        systems=SYSTEM_NAMES,
        starting_balance=STARTING_BALANCE,
        lowest=LOWEST.final,
        highest=HIGHEST.final,
        key_rate=site.terms.key_rate,
        demo_rate=site.terms.demo_rate,
        curl=CURL.format(base_url=visitor.base_url, description=DESCRIPTION),
    )


def show_docs(site: Site, visitor: Visitor) -> Response:
    """Show the documentation of the API, with the settings of this deployment."""
    examples: dict[str, Any] = {
        name: text.format(base_url=visitor.base_url, description=DESCRIPTION)
        for name, text in (("curl", CURL), ("python", PYTHON), ("command", COMMAND))
    }
    return render(visitor, "docs.html", **examples, **_values(site.terms))


@cache
def _values(terms: Terms) -> dict[str, Any]:
    fields = FIELDS | {
        name: meaning for form in terms.forms for name, meaning in METADATA_FIELDS[form].items()
    }
    return {
        "systems": SYSTEM_NAMES,
        "max_characters": MAX_CHARACTERS,
        "max_body": MAX_BODY,
        "max_matches": MAX_MATCHES,
        "responses": [(form, _indented(response("cpv", form))) for form in terms.forms],
        "fields": [(name, *described) for name, described in fields.items()],
        "failures": FAILURES,
        "failure": _indented(failure(FAILURES[0].error, FAILURES[0].example)),
        "key_rate": terms.key_rate,
        "demo_rate": terms.demo_rate,
        "starting_balance": STARTING_BALANCE,
        "lowest": LOWEST.final,
        "highest": HIGHEST.final,
        "formula": FORMULA,
        "most_for_titles": MOST_FOR_TITLES,
        "example": price(MATCHES["cpv"]),
    }


def _indented(body: bytes) -> str:
    """Indent JSON; numbers keep their digits."""
    return msgspec.json.format(body, indent=2).decode()
