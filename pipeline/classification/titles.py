"""Gives the codes of answers their official titles in another language."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from msgspec.structs import replace

from pipeline.answers import Answer, Match, Matched, System
from pipeline.classification.per_answer import PerAnswer
from pipeline.codes import titles_in
from pipeline.settings import Settings

__all__ = ["translations"]


def translations(settings: Settings) -> Mapping[System, PerAnswer[Answer | None]]:
    """Return what translates the titles of CPV codes; nothing if the settings want English ones.

    The other systems have English titles only.
    """
    if settings.language == "en" or "cpv" not in settings.systems:
        return {}
    return {"cpv": PerAnswer(partial(_translated, titles_in(settings.language)))}


def _translated(titles: Mapping[str, str], answer: Answer | None) -> Answer | None:
    if not isinstance(answer, Matched):
        return answer
    return replace(answer, matches=tuple(_titled(titles, match) for match in answer.matches))


def _titled(titles: Mapping[str, str], match: Match) -> Match:
    """Return a match with the official title, or as it is if the CPV lacks its code."""
    return replace(match, title=titles.get(match.code.strip()[:8], match.title))
