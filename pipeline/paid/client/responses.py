"""Reads responses: the one module that knows the bodies and status codes of both protocols."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from pipeline.answers import Match, System
from pipeline.money import ZERO
from pipeline.paid.client.outcomes import (
    MAX_BODY,
    WITHOUT_ANSWER,
    Answered,
    Charged,
    Ended,
    InsufficientBalance,
    Outcome,
    Passing,
    RateLimited,
    Refused,
    Stray,
    Unauthorized,
    Unconfirmed,
    Unreadable,
    WrongPrice,
    by_status,
    stated_wait,
    stray,
)
from pipeline.paid.client.prices import (
    TokenPrices,
    number,
    parse_json_exact,
    printable,
    read_price,
    read_usage,
    whole_number,
)

KNOWN_ERRORS = {
    "VALIDATION_ERROR",
    "UNAUTHORIZED",
    "RATE_LIMIT_EXCEEDED",
    "INSUFFICIENT_BALANCE",
    "INTERNAL_ERROR",
}
CHARGEABLE = RateLimited | Passing | Unconfirmed | Stray
REFUSALS = (401, 402, 429)
"""The statuses of refusals that are recognised without a body, and not billed."""

DIGITS = 38
"""The maximum length of a code that is sent as a number."""


def read_response(status: int, headers: Mapping[str, str], body: bytes) -> Outcome:
    """Return what a response means; nothing that a server can send makes this raise.

    Matches are sorted by confidence, ties as received; of equal codes the first is kept. A
    confidence is a number or the text of one; anything else, including NaN and infinities, is 0.
    A code sent as a whole number becomes its digits. The meaning of a success depends on
    ``status`` and ``body`` alone, so that a kept response can be read again years later.

    Args:
        status: the HTTP status.
        headers: the headers; only a refusal's matter.
        body: the bytes; more than `MAX_BODY` are unreadable.
    """
    named = {name.lower(): value for name, value in headers.items()}
    if (record := read_record(body)) is not None:
        return read_chat(status, named, *record)
    content = json_object(body)
    if isinstance(content, dict) and _is_failure(content):
        return _with_charge(_failure(status, named, content), content)
    if 200 <= status <= 299:
        outcome = _success(content)
        if status not in WITHOUT_ANSWER or not isinstance(outcome, Unreadable):
            return outcome
    return _with_charge(by_status(status, named, "") or stray(status, named), content)


def json_object(body: bytes) -> dict[str, Any] | str:
    """Return the JSON object in a body, or the reason why there is none."""
    if len(body) > MAX_BODY:
        return f"the body is larger than {MAX_BODY:,} bytes"
    try:
        content = parse_json_exact(body.decode(json.detect_encoding(body), "replace"))
    except (ValueError, RecursionError):
        return "the body is not JSON, or not all of it arrived"
    return content if isinstance(content, dict) else "the body is not a JSON object"


def is_whole(body: bytes) -> bool:
    """Return whether a body is a JSON object to its end; a part of one never is."""
    return not isinstance(json_object(body), str)


def is_surely_free(status: int, body: bytes) -> bool:
    """Return whether a response was not billed, whatever the rest of its body says.

    It was refused for its account or for the rate limit. The rest of a JSON object might state
    another error, or a price.
    """
    return status in REFUSALS and b"{" not in body


def _is_failure(content: Mapping[str, Any]) -> bool:
    """Return whether a body is the service's error envelope, not a gateway's or a framework's."""
    success = content.get("success")
    return success is False or (success is None and _error(content) in KNOWN_ERRORS)


def _failure(status: int, headers: Mapping[str, str], content: Mapping[str, Any]) -> Outcome:
    error, message = _error(content), printable(content.get("message"))
    match error:
        case "VALIDATION_ERROR":
            return _with_price(content, Refused(error, message, None))
        case "UNAUTHORIZED":
            return Unauthorized(message)
        case "INSUFFICIENT_BALANCE":
            return InsufficientBalance(message)
        case "RATE_LIMIT_EXCEEDED":
            return RateLimited(stated_wait(headers))
        case "INTERNAL_ERROR":
            return Passing(error, stated_wait(headers))
    if status == 403:
        return Unauthorized(message)
    if status >= 500 and status not in (502, 504):
        return Passing(error, stated_wait(headers))
    refused = Refused(error, message, None)
    return by_status(status, headers, message) or _with_price(content, refused)


def _with_charge(outcome: Outcome, content: dict[str, Any] | str) -> Outcome:
    """Return an outcome with the price that it states: any response may have been billed.

    An account without a valid key or enough money cannot have been charged, whatever is stated.
    """
    if isinstance(content, str) or not isinstance(outcome, CHARGEABLE):
        return outcome
    price = read_price(content)
    if price.cost == 0 or (price.cost is None and not price.wrong):
        return outcome
    return Charged(outcome, None if price.wrong else price.cost)


def _success(content: dict[str, Any] | str) -> Outcome:
    if isinstance(content, str):
        return Unreadable(content, None)
    matches = _matches(content.get("data", ""))
    if matches is None or content.get("success") not in (None, True):
        return _with_price(content, Unreadable("the body has no list of matches", None))
    return _with_price(content, Answered(matches, None))


def _with_price(content: Mapping[str, Any], ended: Ended) -> Outcome:
    """Return the end of a call with the price that its response states."""
    price = read_price(content)
    return WrongPrice(price.wrong, ended) if price.wrong else replace(ended, cost_usd=price.cost)


def _matches(items: object) -> tuple[Match, ...] | None:
    """Rank the items; null is an empty list. None: this is not a list of items with codes."""
    if items is not None and not isinstance(items, list):
        return None
    matches = [match for item in items or () if isinstance(item, dict) and (match := _match(item))]
    best: dict[str, Match] = {}
    for match in sorted(matches, key=lambda match: -match.confidence):
        best.setdefault(match.code, match)
    return tuple(best.values()) if best or not items else None


def _match(item: Mapping[str, Any]) -> Match | None:
    code = _code(item.get("code"))
    title, confidence = _text(item.get("title")), _confidence(item.get("confidence"))
    return Match(code, title, confidence) if code else None


def _code(value: object) -> str:
    if isinstance(value, Decimal) and value.is_finite() and value.adjusted() < DIGITS:
        whole = value.to_integral_value()
        return f"{whole:f}" if whole == value and not value.is_signed() else ""
    return _text(value).strip()


def _confidence(value: object) -> float:
    stated = number(value.strip()) if isinstance(value, str) else value
    confidence = float(stated) if isinstance(stated, Decimal) else 0.0
    return confidence if math.isfinite(confidence) else 0.0


def _error(content: Mapping[str, Any]) -> str:
    return printable(content.get("error")) or "UNKNOWN_ERROR"


def _text(value: object) -> str:
    """Return a text without lone surrogates; "" for what is not text."""
    if not isinstance(value, str):
        return ""
    return value if value.isascii() else value.encode(errors="replace").decode()


LETTERS: Final = "ABCDEFGHIJKLMNOPQRST"
"""What the candidates are called: one token each, and none is the beginning of another."""

NONE: Final = "none"
"""The answer if no candidate fits."""

CHOSEN, SURE_TWICE = 0.9, 0.97
"""The confidence in a chosen code; and if the engine had it first, with at least `SURE` of its own.
Measured with a strong model, of whose choices an expert accepted 96 and 98 of 100."""

SURE = 0.4

OF_THE_TEXT: Final = frozenset(
    ("content_filter", "context_length_exceeded", "invalid_prompt", "string_above_max_length")
)
"""Codes of errors for which the same text would be refused again."""

NO_CHOICE = "the model named none of the candidates"

WRONG_ADDRESS = "does the address end in /v1, and is the name of the model right?"
WRONG_FIELDS = "are the name of the model and the request fields right?"

FLAT_OBJECT: Final = re.compile(r"\{[^{}]*\}")
WORD: Final = re.compile(r"\w+")

MAGIC: Final = b"chat/1 "
"""How a record begins, and no JSON; so a kept response says by itself which protocol it is of."""


class Asked(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a model was asked, without the text: enough to read its response years later.

    Attributes:
        system: the classification system.
        prompt: the version of the prompt.
        tool: the version of this package, whose engine found the candidates.
        token_prices: what tokens cost, as the user said when this was asked.
        candidates: the engine's matches to choose from; the first is A, the next B.
        changed: whether the client has changed its requests because of this response.
    """

    system: System
    prompt: int
    tool: str
    token_prices: TokenPrices
    candidates: tuple[Match, ...]
    changed: bool = False

    def record(self, response: bytes) -> bytes:
        """Return the record of a response."""
        return MAGIC + _encoder.encode(self) + b"\n" + response


_encoder: Final = msgspec.json.Encoder()
_decoder: Final = msgspec.json.Decoder(Asked)


def is_record(body: bytes) -> bool:
    """Return whether a body begins like a record."""
    return body.startswith(MAGIC)


def read_record(body: bytes) -> tuple[Asked, bytes] | None:
    """Return what a record says was asked, and the response; None if it is none, or damaged."""
    if not is_record(body):
        return None
    asked, _, response = body[len(MAGIC) :].partition(b"\n")
    try:
        return _decoder.decode(asked), response
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def read_chat(status: int, headers: Mapping[str, str], asked: Asked, response: bytes) -> Outcome:
    """Return what a language model's response means; nothing that a server can send makes it raise.

    Args:
        status: the HTTP status; 204 without candidates means that nothing was sent.
        headers: the headers, with names in lower case; only a refusal's matter.
        asked: what was asked.
        response: the body.
    """
    if status == 204 and not asked.candidates:
        return Answered((), ZERO)
    content = json_object(response)
    if 200 <= status <= 299:
        if isinstance(content, dict) and content.get("error") and not content.get("choices"):
            return _error_of_a_success(status, headers, content, asked)
        if status not in WITHOUT_ANSWER:
            return _chat_success(content, asked)
    return _chat_failure(status, headers, content, asked)


def _error_of_a_success(
    status: int, headers: Mapping[str, str], content: dict[str, Any], asked: Asked
) -> Outcome:
    """Read an error that came with the status of a success; it may have been billed."""
    stated = whole_number(_chat_error(content).get("code"), 400, 599)
    if stated is None:
        return Unconfirmed(f"HTTP_{status}")
    outcome = _chat_failure(stated, headers, content, asked)
    if isinstance(outcome, Refused):
        return _chat_with_price(Unreadable(outcome.message, None), content, asked)
    return outcome


def _chat_failure(
    status: int, headers: Mapping[str, str], content: dict[str, Any] | str, asked: Asked
) -> Outcome:
    is_json, error = isinstance(content, dict), _chat_error(content)
    message = _message(error)
    stated = (error.get("code"), error.get("type"))
    names = {name for name in stated if isinstance(name, str)}
    match status:
        case 403 if is_json:
            return (
                Refused("MODERATED", message, None) if _is_flagged(error) else Unauthorized(message)
            )
        case 429:
            is_money = "insufficient_quota" in names  # as a word, some services say it of rates
            return InsufficientBalance(message) if is_money else RateLimited(stated_wait(headers))
        case 408 | 409 | 425 | 503 | 529:
            return Passing(f"HTTP_{status}", stated_wait(headers), _quote(status, message))
        case 500 if is_json:
            return Passing("INTERNAL_ERROR", stated_wait(headers), _quote(status, message))
        case 400 | 413 | 422 if of_text := names & OF_THE_TEXT:
            return Refused(min(of_text).upper(), message, None)
        case 400 | 422 if asked.changed:
            return Passing("REQUEST_CHANGED", None, _quote(status, message))
    if outcome := by_status(status, headers, message):
        return outcome
    if status == 404 or (is_json and 400 <= status <= 499):
        hint = WRONG_ADDRESS if status == 404 else WRONG_FIELDS
        return Stray(f"{_quote(status, message)} ({hint})")
    return stray(status, headers)


def _chat_error(content: dict[str, Any] | str) -> Mapping[str, Any]:
    """Return the object that describes an error; servers put it in different places."""
    error = {} if isinstance(content, str) else content.get("error", content)
    return error if isinstance(error, dict) else {"message": error}


def _message(error: Mapping[str, Any]) -> str:
    stated = error.get("message") or error.get("detail")
    return printable(stated if isinstance(stated, str) or not stated else str(stated)).rstrip(".")


def _quote(status: int, message: str) -> str:
    return f"HTTP {status}, {message or 'without a message'}"


def _is_flagged(error: Mapping[str, Any]) -> bool:
    """Return whether a refusal is of the text, not of the key."""
    about = error.get("metadata")
    return isinstance(about, dict) and ("flagged_input" in about or "reasons" in about)


def _chat_success(content: dict[str, Any] | str, asked: Asked) -> Outcome:
    if isinstance(content, str):
        return _chat_with_price(Unreadable(content, None), {}, asked)
    return _chat_with_price(_answer(content, asked.candidates), content, asked)


def _chat_with_price(
    ended: Answered | Refused | Unreadable, content: Mapping[str, Any], asked: Asked
) -> Outcome:
    """Return the end of a call with what its tokens cost."""
    price = read_usage(content, asked.token_prices)
    if price.wrong:
        return WrongPrice(price.wrong, ended)
    if isinstance(ended, Refused) and price.cost is None:
        # A refusal without a price counts as free, but a model that refuses has read the text.
        return Unreadable(ended.message, None)
    return replace(ended, cost_usd=price.cost)


def _answer(
    content: Mapping[str, Any], candidates: tuple[Match, ...]
) -> Answered | Refused | Unreadable:
    """Return what a model chose, without the price."""
    choices = content.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        return Unreadable("the response has no message", None)
    ended_by = choice.get("finish_reason")
    if (refusal := printable(message.get("refusal"))) or ended_by == "content_filter":
        return Refused("MODEL_REFUSED", refusal or "a content filter stopped the answer", None)
    text = _chat_text(message.get("content"))
    matches = _choose(text, candidates) if text else _choose_by_reasoning(message, candidates)
    if matches is not None:
        return Answered(matches, None)
    if ended_by == "length":
        reason = "the answer was cut off; allow more tokens, with the request field max_tokens"
        return Unreadable(reason, None)
    quoted = printable(text)[:80]
    return Unreadable(f"{NO_CHOICE}: {quoted!r}" if quoted else NO_CHOICE, None)


def _chat_text(content: object) -> str:
    """Return the text of a message, which may come in parts, without the model's reasoning."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    if not isinstance(content, str):
        return ""
    return content.rpartition("</think>")[2].partition("<think>")[0].strip()


def _choose_by_reasoning(
    message: Mapping[str, Any], candidates: tuple[Match, ...]
) -> tuple[Match, ...] | None:
    """Read an answer that a server took for reasoning; it must be nothing else than the answer."""
    for name in ("reasoning_content", "reasoning"):
        text = message.get(name)
        if isinstance(text, str) and FLAT_OBJECT.fullmatch(text.strip()):
            return _choose(text, candidates)
    return None


def _choose(text: str, candidates: tuple[Match, ...]) -> tuple[Match, ...] | None:
    """Return the candidates, the chosen one first; none if none fits. None: no choice is stated.

    Nothing but a candidate is ever returned, whatever the text says.
    """
    for choice in _choices(text):
        return _choose_by_name(choice, candidates) if isinstance(choice, str) else None
    if (matches := _choose_by_name(text, candidates)) is not None:
        return matches
    words = {*WORD.findall(text)}
    named = [candidate for candidate in candidates if candidate.code in words]
    return _rank(named[0], candidates) if len(named) == 1 else None


def _choices(text: str) -> Iterator[object]:
    """Yield the choices in the JSON objects of a text, the last one first."""
    for written in reversed(FLAT_OBJECT.findall(text)):
        try:
            stated = parse_json_exact(written)
        except (ValueError, RecursionError):
            continue
        if "choice" in stated:
            yield stated["choice"]


def _choose_by_name(choice: str, candidates: tuple[Match, ...]) -> tuple[Match, ...] | None:
    """Return the candidates, that of a letter or code first; None for any other word."""
    name = choice.strip(" \t\r\n.\"'`*")
    if name.lower() == NONE:
        return ()
    by_name = dict(zip(LETTERS, candidates, strict=False)) | {
        candidate.code: candidate for candidate in candidates
    }
    chosen = by_name.get(name.upper())
    return None if chosen is None else _rank(chosen, candidates)


def _rank(chosen: Match, candidates: Sequence[Match]) -> tuple[Match, ...]:
    """Return the chosen candidate before the others, which share what confidence is left."""
    both = chosen is candidates[0] and chosen.confidence >= SURE
    confidence = SURE_TWICE if both else CHOSEN
    others = [candidate for candidate in candidates if candidate is not chosen]
    whole = sum(other.confidence for other in others)
    share = (1 - confidence) / whole if whole > 0 else 0.0
    ranked = [replace(other, confidence=round(other.confidence * share, 4)) for other in others]
    return replace(chosen, confidence=confidence), *ranked
