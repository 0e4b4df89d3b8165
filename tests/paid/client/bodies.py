"""Bodies of responses: of the interface in both forms, of language models, made to measure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from pipeline.answers import Match
from pipeline.paid.client.prices import TokenPrices
from pipeline.paid.client.responses import Asked

DETAILED = (
    b'{"success":true,"message":"API call successful","data":['
    b'{"code":"03111000","title":"Seeds","confidence":0.95,"codeType":"cpv","cost":9}],'
    b'"metadata":{"costBreakdown":{"apiCost":0.00010,"markupPercentage":5,'
    b'"markupAmount":0.000005,"finalCost":0.00010499999999999999,"currency":"USD"}}}'
)
COMPACT = (
    b'{"success":true,"message":"API call successful","data":['
    b'{"code":"03111000","title":"Seeds","confidence":0.95,"codeType":"cpv","cost":9}],'
    b'"metadata":{"cost":{"apiCost":0.00007}}}'
)
SEEDS = (Match("03111000", "Seeds", 0.95),)
NO_LIST = "the body has no list of matches"


def failure(error: str, status_text: str = "No.") -> bytes:
    return json.dumps({"success": False, "error": error, "message": status_text}).encode()


def priced(metadata: str) -> bytes:
    return b'{"success":true,"data":[],"metadata":%s}' % metadata.encode()


def with_items(*items: str) -> bytes:
    return b'{"success":true,"data":[%s]}' % ",".join(items).encode()


JSON_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
PATCHES = st.lists(
    st.tuples(st.integers(0, 400), st.integers(0, 400), st.binary(max_size=9)), max_size=4
)
"""What to put into a body: from where, in place of how many bytes, and what."""


def patched(body: bytes, patches: list[tuple[int, int, bytes]]) -> bytes:
    for start, length, put in patches:
        body = body[:start] + put + body[start + length :]
    return body


def put(content: Any, path: Sequence[str | int], value: object) -> None:
    """Set the value of a field, which is named by the way to it."""
    *parents, last = path
    for step in parents:
        content = content[step]
    content[last] = value


PRICES = TokenPrices(Decimal("0.15"), Decimal("0.60"))
FREE = TokenPrices(Decimal(0), Decimal(0))
CANDIDATES = (
    Match("50750000", "Lift-maintenance services", 0.31),
    Match("45313100", "Lift installation work", 0.2),
    Match("42416100", "Lifts", 0.1),
)
ASKED = Asked("cpv", 1, "0", PRICES, CANDIDATES)
USAGE = {"prompt_tokens": 900, "completion_tokens": 6, "total_tokens": 906}
COST = Decimal("0.0001386")


def completion(content: Any = '{"choice": "B"}', **changes: Any) -> dict[str, Any]:
    """Return a chat completion; ``message``, ``finish_reason`` and ``usage`` may be changed."""
    message = {"role": "assistant", "content": content} | changes.pop("message", {})
    choice = {"index": 0, "message": message, "finish_reason": changes.pop("finish_reason", "stop")}
    return {"object": "chat.completion", "choices": [choice], "usage": {**USAGE}} | changes


def error(message: str = "No.", **named: Any) -> dict[str, Any]:
    return {"error": {"message": message, **named}}


def record(response: object, asked: Asked = ASKED) -> bytes:
    """Return the record of a response: of bytes, or of an object as JSON."""
    return asked.record(response if isinstance(response, bytes) else json.dumps(response).encode())
