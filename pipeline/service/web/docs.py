"""The pages that describe the service: the home page and the documentation."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
from starlette.responses import Response

from pipeline.service import pricing
from pipeline.service.accounts import STARTING_BALANCE
from pipeline.service.http import messages
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


def show(template: str, site: Site, visitor: Visitor) -> Response:
    """Show a page with the settings of this deployment."""
    curl = CURL.format(base_url=visitor.base_url, description=DESCRIPTION)
    return render(visitor, template, description=DESCRIPTION, curl=curl, **_values(site.terms))


@cache
def _values(terms: Terms) -> dict[str, Any]:
    schemas = map(answer_schema, terms.forms)
    fields = {path: field for schema in schemas for path, field in fields_of(schema)}
    return {
        "terms": terms,
        "pricing": pricing,
        "messages": messages,
        "systems": SYSTEM_NAMES,
        "responses": [(form, _indent(response("cpv", form))) for form in terms.forms],
        "fields": fields,
        "failures": FAILURES,
        "failure": _indent(messages.failure(FAILURES[0].status, FAILURES[0].when)),
        "starting_balance": STARTING_BALANCE,
        "example": pricing.price(MATCHES["cpv"]),
    }


def _indent(body: bytes) -> str:
    """Indent JSON; numbers keep their digits."""
    return msgspec.json.format(body, indent=2).decode()
