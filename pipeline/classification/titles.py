"""Gives the codes of answers their official titles in another language."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from pipeline.answers import Answer, BatchAnswers, Match, Matched, Matcher
from pipeline.classification.per_answer import PerAnswer
from pipeline.codes import titles_in
from pipeline.settings import Settings

__all__ = ["in_language"]


def in_language(matcher: Matcher, settings: Settings) -> Matcher:
    """Return a matcher whose CPV titles are in the language of the settings.

    The other systems have English titles only.
    """
    if settings.language == "en" or "cpv" not in settings.systems:
        return matcher
    return _InLanguage(matcher, titles_in(settings.language))


class _InLanguage:
    """Asks a matcher and translates the titles of its answers."""

    def __init__(self, matcher: Matcher, titles: Mapping[str, str]) -> None:
        self._matcher = matcher
        self._titles = titles
        self._translated = PerAnswer(self._answer)

    def answers(self, batches: Iterable[Sequence[str]]) -> Iterator[BatchAnswers]:
        """Answer batches of texts; see `pipeline.answers.Matcher`."""
        for answers in self._matcher.answers(batches):
            yield {**answers, "cpv": self._translated(answers["cpv"])}

    def _answer(self, answer: Answer | None) -> Answer | None:
        if not isinstance(answer, Matched):
            return answer
        return replace(answer, matches=tuple(map(self._match, answer.matches)))

    def _match(self, match: Match) -> Match:
        """Return a match with the official title, or as it is if the CPV lacks its code."""
        return replace(match, title=self._titles.get(match.code.strip()[:8], match.title))
