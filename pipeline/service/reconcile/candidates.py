"""Turns codes and matches into reconciliation candidates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from pipeline.answers import Match
from pipeline.service.reconcile.catalogue import Catalogue
from pipeline.service.reconcile.queries import Query

__all__ = ["Candidate", "of_code", "of_matches"]

Candidate: TypeAlias = dict[str, Any]
"""A candidate as the API writes it."""

CERTAIN = 0.9
"""The confidence from which the best candidate is matched without being asked about."""

DIGITS = 6
"""Decimal places of a sum of confidences; without rounding, .5 + .3 is less than .8."""


def of_code(code: str, query: Query, codes: Catalogue) -> list[Candidate]:
    """Return the candidates of a cell that holds a code.

    It is matched if the cell has all its digits: ``45`` may also be a number of something else.
    """
    whole = "".join(query.text.upper().split()).replace("-", "").startswith(code.replace("-", ""))
    found = _at_levels({code: 1.0}, query.levels, codes)
    return [_candidate(each, 1.0, whole, query, codes) for each in found]


def of_matches(matches: Sequence[Match], query: Query, codes: Catalogue) -> list[Candidate]:
    """Return the candidates of a text, the most confident first."""
    confidences = {match.code: match.confidence for match in matches if match.code in codes.table}
    found = _at_levels(confidences, query.levels, codes)
    best = sorted(found.items(), key=lambda item: -item[1])[: query.limit]
    return [
        _candidate(code, confidence, place == 0 and confidence >= CERTAIN, query, codes)
        for place, (code, confidence) in enumerate(best)
    ]


def _at_levels(
    confidences: Mapping[str, float], levels: Iterable[str], codes: Catalogue
) -> dict[str, float]:
    """Replace codes by those above them that are of the levels, and add up their confidences."""
    if not levels:
        return dict(confidences)
    sums: dict[str, float] = {}
    for code, confidence in confidences.items():
        for level in levels:
            above = codes.at_level(code, level)
            if above is not None:
                sums[above] = round(min(1.0, sums.get(above, 0.0) + confidence), DIGITS)
    return sums


def _candidate(
    code: str, confidence: float, is_match: bool, query: Query, codes: Catalogue
) -> Candidate:
    level = codes.table.level(code)
    # Without a wanted level, only the type of all codes: OpenRefine would suggest the most frequent
    # level, and so restrict the candidates to it.
    types = [codes.levels[level], codes.any_code] if query.levels else [codes.any_code]
    return {
        **codes.entity(code),
        "description": codes.description(code),
        "type": types,
        "score": round(100 * confidence, 2),
        "match": is_match,
        "features": [{"id": "confidence", "value": confidence}],
    }
