"""Puts the decisions of people in the place of a matcher's answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pipeline.answers import (
    Answer,
    BatchAnswers,
    Decided,
    Match,
    Matched,
    Matcher,
    System,
    answered,
)
from pipeline.codes import load
from pipeline.decisions.decision import Decision
from pipeline.decisions.merged import Decisions

__all__ = ["decided"]


def decided(matcher: Matcher, decisions: Decisions) -> Matcher:
    """Return a matcher that answers as people decided, and as another one where nobody has."""
    return _Decided(matcher, decisions) if decisions else matcher


class _Decided:
    def __init__(self, matcher: Matcher, decisions: Decisions) -> None:
        self._matcher = matcher
        self._decisions = decisions

    def answers(self, batches: Iterable[Sequence[str]]) -> Iterator[BatchAnswers]:
        """Answer batches of texts; see `pipeline.answers.Matcher`."""
        for asked, answers in answered(batches, lambda texts: texts, self._matcher):
            yield {
                system: [
                    self._answer(system, text, answer)
                    for text, answer in zip(asked, found, strict=True)
                ]
                for system, found in answers.items()
            }

    def _answer(self, system: System, text: str, answer: Answer | None) -> Answer | None:
        decision = None if answer is None else self._decisions.of(system, text)
        return answer if answer is None or decision is None else _in_place_of(answer, decision)


def _in_place_of(answer: Answer, decision: Decision) -> Decided:
    """Return the answer of a decision, which costs what the answer that it replaces has cost."""
    why = f"decided by {decision.by}"
    if decision.choice == "none":
        return Decided((), answer.cost_usd, why)
    title = load(decision.system).titles.get(decision.code, decision.title)
    others = answer.matches if isinstance(answer, Matched) else ()
    rest = (match for match in others if match.code != decision.code)
    return Decided((Match(decision.code, title, 1.0), *rest), answer.cost_usd, why)
