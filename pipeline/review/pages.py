"""The pages of a review as an ASGI application, for the one browser that opened its link."""

from __future__ import annotations

import re
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from threading import Lock
from typing import Any, TypeAlias

from jinja2 import Environment
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route

from pipeline.answers import BANDS, System, band, chance
from pipeline.classification.enriched import EnrichedTable
from pipeline.classification.excerpts import excerpt, named_words, spoken_words
from pipeline.codes import above, find_code, load, titles
from pipeline.codes.table import full_code
from pipeline.engine import Ranker, ranker, searched
from pipeline.engine.text.cleaning import written_sentences
from pipeline.errors import OutputError
from pipeline.pages import environment
from pipeline.review.queue import ALL, LOOK, ORDERS, Filters, Item
from pipeline.review.session import Review
from pipeline.service.accounts import row_number
from pipeline.service.http.messages import cookie_of
from pipeline.service.web.browsers import Form, PageError, PageFiles, SecurityHeaders, read_form
from pipeline.wording import how_many

MOST = 9
"""Candidates on the page: each has a key."""

WORDS_APART = re.compile(r"([^\W\d_]+)")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A code that can be chosen, with the codes `above` it; `below` counts those right below it.

    It has no confidence if nobody ranked it.
    """

    code: str
    title: str
    confidence: float | None
    above: Sequence[tuple[str, str]]
    below: int


class Candidates:
    """Finds candidates for the texts of a table, whose run says which models to ask."""

    def __init__(self, table: EnrichedTable) -> None:
        self._table = table

    def load(self) -> None:
        """Load what ranks and searches, so that the first text does not wait for it."""
        for system in self._table.systems:
            self._ranker(system).rank(["?"], 1)
            self.search(system, "?")

    def of(self, item: Item) -> list[Candidate]:
        """Return the best codes for a text: those of the table first, then the engine's."""
        ranked = {item.code: item.confidence} if item.code else {}
        for code, _, sure in item.matches:
            ranked.setdefault(code, sure)
        if len(ranked) < MOST:
            (matches,) = self._ranker(item.system).rank([item.text], MOST)
            for match in matches:
                ranked.setdefault(match.code, match.confidence)
        return [
            self._candidate(item.system, code, sure, item.titles.get(code, ""))
            for code, sure in list(ranked.items())[:MOST]
        ]

    def words(self, item: Item) -> list[str]:
        """Return the words of a text that speak for its best match, the strongest first."""
        model = self._table.models.get(item.system)
        return named_words(item.text, item.system, item.code, model)

    def search(self, system: System, words: str) -> list[Candidate]:
        """Search the codes as `searched` does; a code finds itself and those below."""
        codes = load(system)
        code = find_code(codes, words)
        if code is None:
            codes_found = [match.code for match in searched(system, words, MOST)]
        else:
            codes_found = [*filter(codes.assignable, [code, *codes.children(code)])]
        return [self._candidate(system, code_found) for code_found in codes_found[:MOST]]

    def _ranker(self, system: System) -> Ranker:
        return ranker(system, self._table.models.get(system))

    def _candidate(
        self, system: System, code: str, confidence: float | None = None, title: str = ""
    ) -> Candidate:
        language, below = self._table.language, len(load(system).children(code))
        title = titles(system, language).get(code, title)
        return Candidate(code, title, confidence, above(system, code, language), below)


SHOWN = 400
"""Characters of a text, or of its excerpt, that are shown at once; the whole text unfolds."""

MOST_SHOWN = 100_000
"""Characters of a text that are shown at all: as many as the engine reads."""

LONGEST = 200
"""Characters of a search that count."""

EXAMPLES = 8
"""Texts that the page lists before many are accepted."""

WORDS = {
    403: ("This page is not open to you", "Open the link that the review printed."),
    404: ("Page not found", "Go back to the review."),
    405: ("This address does not take this request", "Go back to the review."),
    413: ("The form is too large", "Go back and send less."),
    415: ("The form has the wrong format", "Send it from the page itself."),
    422: ("Nothing was decided", "Go back to the review."),
    500: ("The review failed", "Nothing that was saved is lost. Start the review again."),
}
"""The heading and the advice of error pages."""


class Pages:
    """The pages of one review."""

    def __init__(self, review: Review) -> None:
        self._review = review
        self._candidates = Candidates(review.table)

    def show(self, request: Request) -> HTMLResponse:
        """Show the text that the address names and that is not decided, or else the next one."""
        query = request.query_params
        filters = Filters.of(query)
        with self._review.lock:
            item = self._asked(query.get("item", "")) or self._review.queue.next(filters)
            return self._render(
                "review.html" if item else "done.html",
                filters=filters,
                progress=self._review.queue.progress(filters),
                saved=self._review.saved,
                nothing_to_undo="nothing" in query,
                choices=self._choices(filters),
                **(self._about(item, query.get("q", "").strip()[:LONGEST]) if item else {}),
            )

    def show_accept(self, request: Request) -> HTMLResponse:
        """Show how many texts would get their best match, before that is done."""
        filters = Filters.of(request.query_params)
        with self._review.lock:
            queue = self._review.queue
            texts, rows = queue.acceptable_counts(filters)
            listed = islice(queue.acceptable(filters), EXAMPLES)
            examples = [
                (item, excerpt(item.text, self._spoken(item, self._why(item)))) for item in listed
            ]
        return self._render(
            "accept.html",
            filters=filters,
            texts=texts,
            rows=rows,
            examples=examples,
            changed="changed" in request.query_params,
        )

    def answer_error(self, _: Request, error: Exception) -> HTMLResponse:
        """Return the page that an error is answered with."""
        match error:
            case OutputError():
                return self._problem(500, "The decision was not saved", str(error))
            case PageError(status=status, message=message):
                return self._problem(status, message=message or "")
            case HTTPException(status_code=status):
                return self._problem(status)
            case _:
                return self._problem(500)

    def _problem(self, status: int, heading: str = "", message: str = "") -> HTMLResponse:
        title_and_hint = WORDS.get(status, ("This did not work", "Go back and try again."))
        words = {"heading": heading or title_and_hint[0], "message": message or title_and_hint[1]}
        return self._render("problem.html", status, **words)

    def _asked(self, item: str) -> Item | None:
        number = row_number(item)
        return None if number is None else self._review.queue.open_item(number)

    def _about(self, item: Item, words: str) -> dict[str, Any]:
        """Return what the page shows of a text: its parts, candidates or what was searched."""
        blind = self._review.blind
        best = ""
        if words:
            candidates = self._candidates.search(item.system, words)
        else:
            candidates = self._candidates.of(item)
            if blind:
                candidates.sort(key=lambda candidate: candidate.code)
            else:
                best = item.code
        why = self._why(item)
        text, is_long = item.text, len(item.text) > SHOWN
        if is_long:
            text = excerpt(text, self._spoken(item, why), SHOWN)
        return {
            "item": item,
            "words": words,
            "searched": find_code(load(item.system), words) or "",
            "candidates": candidates,
            "best": best,
            "spoke": why,
            "text": _parts(text, why),
            "whole": _parts(item.text[:MOST_SHOWN], why) if is_long else [],
            "length": len(item.text),
            "cut_off": max(0, len(item.text) - MOST_SHOWN),
            "conflict": self._review.conflicts.get(item.key),
        }

    def _why(self, item: Item) -> Sequence[str]:
        """Return the words that speak for a best match; a blind reviewer gets none."""
        return [] if self._review.blind else self._candidates.words(item)

    def _spoken(self, item: Item, words: Sequence[str]) -> Sequence[str]:
        """Return the words that an excerpt is made by: those given, or else those of the title."""
        blind = self._review.blind
        return words or ([] if blind else spoken_words(item.text, [(item.system, "", item.title)]))

    def _choices(self, filters: Filters) -> dict[str, tuple[str, dict[str, str]]]:
        """Return the fields of the form of the filters: their labels, and what can be chosen."""
        queue, table = self._review.queue, self._review.table
        systems = {each: each.upper() for each in table.systems}
        statuses = {name: f"{name} ({texts:,})" for name, texts in queue.statuses().items()}
        choices: dict[str, tuple[str, dict[str, str]]] = {}
        if len(systems) > 1:
            choices["system"] = "System", {"": "All systems"} | systems
        if not self._review.blind:
            choices["band"] = "How sure", {"": "Any confidence"} | {each: each for each in BANDS}
        choices["status"] = "Status", {LOOK: "Needs a look", ALL: "All statuses"} | statuses
        if filters.system or len(systems) == 1:
            system = filters.system or table.systems[0]
            shown = titles(system, table.language)
            choices["division"] = (
                "Best match in",
                {"": "Any division"}
                | {
                    each: f"{each} {shown.get(full_code(system, each), '')} ({texts:,})"
                    for each, texts in queue.divisions(system).items()
                },
            )
        choices["order"] = "Order", {order: name for order, (name, _) in ORDERS.items()}
        return choices

    def _render(self, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        page = _templates().get_template(template)
        return HTMLResponse(page.render(review=self._review, **values), status)


@cache
def _templates() -> Environment:
    templates = environment("pipeline.review")
    templates.filters["count"] = how_many
    templates.globals |= {"sure": _sure, "band": band}
    return templates


def _parts(text: str, words: Sequence[str]) -> Markup:
    """Return a text with the words that speak for its best match marked, and boilerplate dimmed."""
    folded = {word.casefold() for word in words}

    def mark(part: str) -> str:
        return Markup("<mark>{}</mark>").format(part) if part.casefold() in folded else part

    return Markup("").join(
        Markup('<span class="soft">{}</span>').format(sentence)
        if is_dull
        else Markup("").join(map(mark, WORDS_APART.split(sentence)))
        for sentence, is_dull in written_sentences(text)
    )


def _sure(confidence: float) -> str:
    """Return a confidence as people say it; a service's may be on another scale."""
    return chance(confidence) if 0 <= confidence <= 1 else f"{confidence:g}"


START = "/start"


class Access:
    """A link that admits one browser, and the cookie that it is exchanged for.

    Attributes:
        token: the token of the link.
    """

    def __init__(self, port: int) -> None:
        self.token = secrets.token_urlsafe(32)
        self._cookie = f"tender_review_{port}"  # cookies do not tell ports apart
        self._session = secrets.token_urlsafe(32)
        self._used = False
        self._lock = Lock()

    def begin(self, request: Request) -> Response:
        """Exchange the token of the link for the cookie; a browser that has it just goes on.

        Raises:
            PageError: the token is wrong or was used.
        """
        if self._is_admitted(request):
            return RedirectResponse("/", 303)
        right = _same(request.query_params.get("token", ""), self.token)
        with self._lock:
            if not right or self._used or request.method != "GET":
                raise PageError(
                    403,
                    "This link is not valid, or was used already. Use the browser that opened it, "
                    "or stop the review in the terminal and start it again.",
                )
            self._used = True
        response = RedirectResponse("/", 303)
        # Lax, because a link in a terminal's web page would not send a strict cookie at first.
        response.set_cookie(self._cookie, self._session, httponly=True, samesite="lax", path="/")
        return response

    def check(self, request: Request) -> None:
        """Refuse a browser that did not open the link.

        Raises:
            PageError: its cookie is missing or wrong.
        """
        if not self._is_admitted(request):
            raise PageError(403, "Open the link that the review printed in the terminal.")

    def _is_admitted(self, request: Request) -> bool:
        return _same(cookie_of(request, self._cookie), self._session)


def _same(sent: str, expected: str) -> bool:
    return secrets.compare_digest(sent.encode(), expected.encode())


Action: TypeAlias = Callable[[Review, Form, Filters], Response]


def create_app(review: Review, access: Access) -> Starlette:
    """Build the page of a review."""
    pages = Pages(review)
    app = Starlette(
        routes=[
            Route(START, access.begin),
            Route("/", _shown(access, pages.show)),
            Route("/accept", _shown(access, pages.show_accept)),
            Route("/decide", _done(review, access, _decide), methods=["POST"]),
            Route("/undo", _done(review, access, _undo), methods=["POST"]),
            Route("/accept", _done(review, access, _accept), methods=["POST"]),
            Mount("/static", PageFiles("pipeline.review", "pipeline.service.web")),
        ],
        exception_handlers=dict.fromkeys(
            (PageError, OutputError, HTTPException, Exception), pages.answer_error
        ),
    )
    # DNS rebinding makes a page of another site send requests for its own host.
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])
    app.add_middleware(SecurityHeaders)  # the last is the outermost
    return app


def _shown(access: Access, page: Callable[[Request], Response]) -> Callable[[Request], Response]:
    def endpoint(request: Request) -> Response:  # not async: ranking takes a while, in a thread
        access.check(request)
        return page(request)

    return endpoint


def _done(
    review: Review, access: Access, action: Action
) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        access.check(request)
        form = await read_form(request)
        filters = Filters.of({name: form.value(name) for name in form.values})
        return await run_in_threadpool(action, review, form, filters)

    return endpoint


def _decide(review: Review, form: Form, filters: Filters) -> Response:
    number = row_number(form.value("item"))
    if number is None or not review.choose(number, form.value("choice")):
        raise PageError(422, "This is not a decision about a text of the table. Choose again.")
    return _back(filters)


def _undo(review: Review, form: Form, filters: Filters) -> Response:  # noqa: ARG001 - an action
    item = review.undo()
    return _back(filters, f"item={item.number}" if item else "nothing=1")


def _accept(review: Review, form: Form, filters: Filters) -> Response:
    count = row_number(form.value("count"))
    if count is not None and review.accept_all(filters, count):
        return _back(filters)
    return RedirectResponse(f"/accept?changed=1&{filters.query}", 303)


def _back(filters: Filters, more: str = "") -> Response:
    query = "&".join(part for part in (filters.query, more) if part)
    return RedirectResponse(f"/?{query}" if query else "/", 303)
