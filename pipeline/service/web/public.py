"""The pages that everybody may see: the home page, the documentation, and the one to try calls."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from pipeline.answers import MEASURED, SYSTEMS, Match, System, band
from pipeline.codes import above, titles_in
from pipeline.json_log import FIELDS
from pipeline.money import total
from pipeline.service import pricing
from pipeline.service.accounts import STARTING_BALANCE, Holder
from pipeline.service.calls import Answered
from pipeline.service.errors import RefusedError
from pipeline.service.http import messages
from pipeline.service.http.messages import MAX_CHARACTERS, description_error
from pipeline.service.http.outcomes import FAILED
from pipeline.service.pricing import MARKUP_PERCENTAGE
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
from pipeline.service.web.browsers import Form, check
from pipeline.service.web.rendering import render
from pipeline.service.web.site import Site, Visitor
from pipeline.settings import LANGUAGES

CURL = """\
curl {base_url}/api/cpv/match \\
  -H 'Content-Type: application/json' \\
  -H "X-API-Key: $TENDER_PIPELINE_API_KEY" \\
  -d '{{"description": "{description}"}}'"""


def show_terms(template: str, site: Site, visitor: Visitor) -> Response:
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


log = logging.getLogger("pipeline.service")

NO_TITLES = "There are no titles in this language. Choose one from the list."


def _rows(system: System, matches: Iterable[Match], language: str) -> Iterator[dict[str, Any]]:
    """Yield what to show of some matches.

    Only the first code has a band: for the others, bands are not measured.
    """
    titles = titles_in(language) if system == "cpv" and language != "en" else {}
    for rank, match in enumerate(matches):
        title = titles.get(match.code)
        yield {
            "code": match.code,
            "title": title or match.title,
            "language": language if title else "en",
            "confidence": match.confidence,
            "band": None if rank else band(match.confidence),
            "above": above(system, match.code, language),
        }


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one call: an answer and how the page shows its matches, or an error."""

    system: System
    answered: Answered | None = None
    refused: RefusedError | None = None
    shown: Sequence[Mapping[str, Any]] = ()


def show_trial(site: Site, visitor: Visitor, outcomes: Sequence[Outcome] = ()) -> Response:
    """Show the form, and the answers to what was sent."""
    if not visitor.form.values:
        language = _preferred(visitor.request.headers.get("Accept-Language", ""))
        visitor.form = Form({"system": ["cpv"], "language": [language]})
    refused = [outcome.refused for outcome in outcomes if outcome.refused is not None]
    failed = refused[0] if refused and len(refused) == len(outcomes) else None
    return render(
        visitor,
        "try.html",
        failed.status if failed else None,
        failed.headers if failed else None,
        systems=SYSTEM_NAMES,
        outcomes=outcomes,
        answered=len(refused) < len(outcomes),
        paid=_paid(outcomes),
        markup=MARKUP_PERCENTAGE,
        languages=dict(sorted(LANGUAGES.items(), key=lambda language: language[1])),
        balance=None if visitor.account_id is None else site.accounts.balance(visitor.account_id),
        demo_rate=site.terms.demo_rate,
        max_characters=MAX_CHARACTERS,
        measured=MEASURED,
    )


def _preferred(accepted: str) -> str:
    """Return the first language of a browser that has titles; browsers name the best one first."""
    names = (tag.split(";")[0].split("-")[0].strip().lower() for tag in accepted.split(","))
    return next((name for name in names if name in LANGUAGES), "en")


async def try_call(site: Site, visitor: Visitor) -> Response:
    """Make a call for each chosen system, and show the answers."""
    form = visitor.form
    # Browsers end lines with \r\n, programs with \n.
    description = form.value("description").replace("\r\n", "\n")
    systems = [system for system in SYSTEMS if form.chosen("system", system)]
    language = form.value("language") or "en"
    check(
        description=description_error(description),
        language="" if language in LANGUAGES else NO_TITLES,
        system="" if systems else "No system is chosen. Choose at least one.",
    )
    outcomes = [await _ask(site, visitor, system, description, language) for system in systems]
    visitor.request.state.price_usd = _paid(outcomes)  # for the access log
    return await run_in_threadpool(show_trial, site, visitor, outcomes)


async def _ask(
    site: Site, visitor: Visitor, system: System, description: str, language: str
) -> Outcome:
    holder = None if visitor.account_id is None else Holder(visitor.account_id)
    try:
        site.calls.count(holder, visitor.address)
        answered = await site.calls.answer(holder, system, description)
        return Outcome(system, answered, shown=[*_rows(system, answered.matches, language)])
    except RefusedError as error:
        return Outcome(system, refused=error)
    except Exception as error:  # the page still shows the answers of the other systems
        number = visitor.request.state.request_id
        log.error("failed", exc_info=error, extra={FIELDS: {"request": number}})
        return Outcome(system, refused=RefusedError(FAILED.format(number)))


def _paid(outcomes: Sequence[Outcome]) -> Decimal:
    return total(
        outcome.answered.price.final for outcome in outcomes if outcome.answered is not None
    )
