"""Applies decisions: in place of answers, and as labels to learn from and to measure with."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from pipeline.answers import Answer, BatchAnswers, Decided, Match, Matched, System
from pipeline.codes import load
from pipeline.decisions.decision import Decision, text_key
from pipeline.decisions.merged import Decisions
from pipeline.errors import InputError


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


TEXT_COLUMN, CODE_COLUMN = "description", "code"
"""The columns of `label_table`."""


class DecidedLabels:
    """The labels of a history, corrected and completed by decisions."""

    def __init__(self, decisions: Decisions, system: System) -> None:
        self._left = {text_key(each.text): each for each in decisions.about(system)}
        self._decisions = decisions
        self._system = system

    def corrected(self, texts: Sequence[str], codes: Sequence[str]) -> list[str]:
        """Return the codes of a history's rows, or the decided ones; "" where none fits."""
        return [self._code(text, code) for text, code in zip(texts, codes, strict=True)]

    def rest(self) -> tuple[list[str], list[str]]:
        """Return the texts and codes of the decisions that the history does not have."""
        chosen = [each for each in self._left.values() if each.code]
        return [each.text for each in chosen], [each.code for each in chosen]

    def _code(self, text: str, code: str) -> str:
        decision = self._decisions.of(self._system, text) if text else None
        if decision is None:
            return code
        self._left.pop(text_key(text), None)
        return decision.code


def label_table(decisions: Decisions, system: System) -> pa.Table:
    """Return the decided texts of a system with their codes, as a labelled table.

    The code is "" for a text that no code fits. Decisions of many rows at once are left out: their
    codes are the matcher's, so they cannot measure it.

    Raises:
        InputError: none is left.
    """
    about = list(decisions.about(system))
    usable = [each for each in about if not each.batch]
    if not usable:
        made = "were made together with others" if about else "there is none"
        raise InputError(
            f"No decision about {system} can be used as a label: {made}.",
            "Review some texts one by one, in the blind mode of tender-pipeline review.",
        )
    columns = {
        TEXT_COLUMN: [each.text for each in usable],
        CODE_COLUMN: [each.code for each in usable],
    }
    return pa.table(columns)
