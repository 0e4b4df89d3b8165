"""Reads the price that a response states: in its metadata, or as the tokens that it used."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, Inexact, InvalidOperation
from functools import partial
from typing import Any, Final, NamedTuple

from pipeline.money import ZERO, is_storable, times, total

NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
NOT_A_NUMBER: Final = Decimal("NaN")

_to_decimal: Final = partial(Decimal, context=Context(traps=[]))
"""Returns what a number says, exactly; NaN if it is too large for a `Decimal`."""


def number(text: str) -> Decimal:
    """Read a number; what is none, or too large for a `Decimal`, is NaN."""
    return _to_decimal(text) if NUMBER.fullmatch(text) else NOT_A_NUMBER


REPEATED: Final = 2
"""The key of the names that an object has more than once; it is no name, which are texts."""


def _note_repeats(pairs: Sequence[tuple[str, Any]]) -> dict[Any, Any]:
    fields: dict[Any, Any] = dict(pairs)
    if len(fields) < len(pairs):
        times = Counter(name for name, _ in pairs)
        fields[REPEATED] = {name for name in times if times[name] > 1}
    return fields


JSON = json.JSONDecoder(
    object_pairs_hook=_note_repeats,
    parse_float=_to_decimal,
    parse_int=_to_decimal,
    parse_constant=number,
    strict=False,
)


def parse_json_exact(text: str) -> Any:
    """Read JSON with every number as a `Decimal`; one that is too large is NaN.

    An object that repeats names keeps the last value of each, and the names under `REPEATED`.

    Raises:
        ValueError: it is not JSON.
        RecursionError: it is nested too deeply.
    """
    return JSON.decode(text)


def whole_number(value: object, low: int, high: int) -> int | None:
    """Return a value of a response if it is a whole number in a range; NaN cannot be compared."""
    if not isinstance(value, Decimal) or not value.is_finite():
        return None
    return int(value) if low <= value <= high and value == int(value) else None


def printable(value: object) -> str:
    """Return a text of the service as one short line without control characters."""
    text = value[:300] if isinstance(value, str) else ""
    return "".join(character if character.isprintable() else " " for character in text).strip()


FINEST_USD = Decimal("1e-24")
DIGITS = 38
IN_PARQUET = Context(prec=DIGITS, traps=[Inexact, InvalidOperation])
ROUGHLY = Context(prec=28, traps=[])
"""Rounds as it needs to, whatever the context of the caller traps."""

ABSURD_USD = Decimal("1e14")
"""No output can hold this amount or more, whatever a user allows."""

TOLERANCE: Final = Decimal("0.01")
"""The fraction of the larger by which two statements of one price may differ: services round."""

HALF: Final = Decimal("0.5")

FARTHEST: Final = -1_000
"""The smallest exponent to compute with: `Decimal` cannot scale an amount by -2,000,055."""

QUOTED = 40
"""How many characters of a wrong price a message quotes."""


class _WrongError(Exception):
    """A stated price cannot be used; the text says which and why."""


@dataclass(frozen=True, slots=True)
class Price:
    """What a response states as its price.

    Attributes:
        cost: the price; None if none is stated in US dollars, or one that is not an amount; 0 if
            another currency is stated without a price.
        wrong: why a stated price cannot be used; "" if it can.
    """

    cost: Decimal | None
    wrong: str = ""


def read_price(content: Mapping[str, Any]) -> Price:
    """Return the price that a response states; the costs of its items are never the price.

    The metadata has a detailed form, a compact form, or both. The detailed form states the price
    as ``finalCost``, else as ``apiCost`` plus ``markupAmount``. The compact form's ``apiCost`` is
    the price if the detailed form states none; beside it, it may also be the cost without markup.
    What is stated twice under one name cannot be used, even if both values are equal.
    """
    wrong = ""
    try:
        metadata = _object(content, "metadata")
        detailed, compact = _object(metadata, "costBreakdown"), _object(metadata, "cost")
        currencies = [_currency(detailed), _currency(compact)]
        for currency in currencies:
            if currency.upper() != "USD":
                wrong = wrong or f"it is in {currency}, not in USD"
        cost = _cost(detailed, compact)
        return Price(ZERO if wrong and cost is None else cost, wrong)
    except _WrongError as error:
        return Price(None, wrong or str(error))


class TokenPrices(NamedTuple):
    """What the tokens of a language model cost, US dollars per million."""

    input: Decimal
    output: Decimal

    def of(self, read: int, written: int) -> Decimal:
        """Return what some input and output tokens cost, exactly."""
        millions = total([times(self.input, read), times(self.output, written)])
        return IN_PARQUET.scaleb(millions, -6) or ZERO


MOST_TOKENS = 10_000_000
"""No request has more tokens; a larger count is a mistake."""


def read_usage(content: Mapping[str, Any], prices: TokenPrices) -> Price:
    """Return the price of the tokens that a chat completion states as its usage.

    Some services leave the tokens of the reasoning out of ``completion_tokens``, but not out of
    ``total_tokens``. Discounts, such as for cached input, are not subtracted.
    """
    if not any(prices):
        return Price(ZERO)
    try:
        usage = _object(content, "usage")
        read, written, both = (
            _tokens(usage, f"{name}_tokens") for name in ("prompt", "completion", "total")
        )
    except _WrongError as error:
        return Price(None, str(error))
    if read is None or (written is None and both is None):
        return Price(None)
    return Price(prices.of(read, max(written or 0, (both or 0) - read)))


def _tokens(usage: Mapping[str, Any], name: str) -> int | None:
    """Return a number of tokens; None if it is missing."""
    value = _value_of(usage, name)
    tokens = whole_number(value, 0, MOST_TOKENS)
    if tokens is None and value is not None:
        raise _WrongError(f"{name} is {_quote(value)}")
    return tokens


def _cost(detailed: Mapping[str, Any], compact: Mapping[str, Any]) -> Decimal | None:
    final, base = _amount(detailed, "finalCost"), _amount(detailed, "apiCost")
    markup, paid = _amount(detailed, "markupAmount"), _amount(compact, "apiCost")
    parts = None if base is None or markup is None else _sum(base, markup)
    if final is not None and not (_can_be(final, parts, base) or _are_rounded(final, base, markup)):
        raise _WrongError(
            f"finalCost is {_quote(final)} beside apiCost {_quote(base)} and markupAmount "
            f"{_quote(markup)}"
        )
    cost = parts if final is None else final
    if paid is not None and not _can_be(paid, cost, base) and not _is_base(paid, cost, base):
        of_detailed = base if cost is None else cost
        raise _WrongError(
            f"cost.apiCost is {_quote(paid)}, but costBreakdown comes to {_quote(of_detailed)}"
        )
    chosen = paid if cost is None else cost
    return None if chosen is None else _storable(chosen)


def _can_be(stated: Decimal, whole: Decimal | None, base: Decimal | None) -> bool:
    """Return whether an amount can be the price, which is never less than the base cost."""
    if whole is not None:
        return _alike(stated, whole)
    return base is None or stated >= base or _alike(stated, base)


def _is_base(stated: Decimal, whole: Decimal | None, base: Decimal | None) -> bool:
    """Return whether an amount can be the base cost, which may be unknown."""
    if base is not None:
        return _alike(stated, base)
    return whole is not None and stated <= whole


def _amount(prices: Mapping[str, Any], name: str) -> Decimal | None:
    """Return a stated amount; None if it is missing."""
    value = _value_of(prices, name)
    if value is None:
        return None
    amount = number(value.strip()) if isinstance(value, str) else value
    if isinstance(amount, Decimal) and amount.is_finite() and 0 <= amount < ABSURD_USD:
        return amount or ZERO
    raise _WrongError(f"{name} is {_quote(value)}")


def _sum(base: Decimal, markup: Decimal) -> Decimal:
    try:
        return total([base, markup])
    except (Inexact, InvalidOperation) as error:
        raise _WrongError(f"apiCost is {_quote(base)} and markupAmount {_quote(markup)}") from error


def _are_rounded(final: Decimal, base: Decimal | None, markup: Decimal | None) -> bool:
    """Return whether a price is the sum of its parts, if each was rounded to the digits it has."""
    if not final or not base or markup is None:
        return False
    apart = ROUGHLY.subtract(final, ROUGHLY.add(base, markup)).copy_abs()
    return apart <= ROUGHLY.add(ROUGHLY.add(_rounding(final), _rounding(base)), _rounding(markup))


def _rounding(amount: Decimal) -> Decimal:
    """Return by how much an amount may be off if it was rounded to the digits that it has.

    Zero has none: a markup of 0 would explain half a dollar.
    """
    exponent = amount.as_tuple().exponent
    if not amount or not isinstance(exponent, int):
        return ZERO
    return ROUGHLY.scaleb(HALF, max(exponent, FARTHEST))


def _alike(one: Decimal, other: Decimal) -> bool:
    apart = ROUGHLY.subtract(one, other).copy_abs()
    return apart <= ROUGHLY.multiply(TOLERANCE, max(one, other))


def _storable(amount: Decimal) -> Decimal:
    """Return a price unchanged if Parquet can hold it exactly."""
    try:
        exact = IN_PARQUET.quantize(amount, FINEST_USD)
    except (Inexact, InvalidOperation) as error:
        raise _WrongError(f"the price is {_quote(amount)}") from error
    # A price may state more zeros at its end than the ledger accepts in an amount.
    return (amount if is_storable(amount) else IN_PARQUET.normalize(exact)) if amount else ZERO


def _quote(value: object) -> str:
    """Return a value approximately as the body has it."""
    match value:
        case bool():
            text = str(value).lower()
        case Decimal() | None:
            text = "missing" if value is None else str(value)
        case str():
            text = f'"{printable(value)}"'
        case dict():
            text = "an object"
        case _:
            text = "a list"
    return text if len(text) <= QUOTED else f"{text[:QUOTED]}..."


def _currency(prices: Mapping[str, Any]) -> str:
    currency = _value_of(prices, "currency") or "USD"
    return currency if currency == "USD" else printable(currency) or "unknown"


def _object(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = _value_of(content, name)
    return value if isinstance(value, dict) else {}


def _value_of(fields: Mapping[Any, Any], name: str) -> Any:
    """Return the value of a name; None if it is missing."""
    if name in fields.get(REPEATED, ()):
        raise _WrongError(f"{name} is stated twice")
    return fields.get(name)
