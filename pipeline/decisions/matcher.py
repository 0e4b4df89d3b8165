"""Puts the decisions of people in the place of a matcher's answers."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.answers import Answer, BatchAnswers, Decided, Match, Matched
from pipeline.codes import load
from pipeline.decisions.decision import Decision
from pipeline.decisions.merged import Decisions

__all__ = ["decided"]


def decided(decisions: Decisions, texts: Sequence[str], answers: BatchAnswers) -> BatchAnswers:
    """Return the answers for some texts as people decided, and as they are where nobody has."""
    return {
        system: [
            answer and _decided(decisions.of(system, text), answer)
            for text, answer in zip(texts, found, strict=True)
        ]
        for system, found in answers.items()
    }


def _decided(decision: Decision | None, answer: Answer) -> Answer:
    """Return the answer of a decision, which costs what the answer that it replaces has cost."""
    if decision is None:
        return answer
    why = f"decided by {decision.by}"
    if decision.choice == "none":
        return Decided((), answer.cost_usd, why)
    title = load(decision.system).titles.get(decision.code, decision.title)
    others = answer.matches if isinstance(answer, Matched) else ()
    rest = (match for match in others if match.code != decision.code)
    return Decided((Match(decision.code, title, 1.0), *rest), answer.cost_usd, why)
