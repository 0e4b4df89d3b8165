"""What is kept of every answer while a subject is evaluated: a few bytes a row, no texts."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from pipeline.answers import Answer, Matched, System
from pipeline.classification.columns import status
from pipeline.codes import normalized
from pipeline.evaluation.labels import STATED, Depth, depths
from pipeline.settings import MAX_TOP

__all__ = ["Scores"]


@dataclass(slots=True)
class Scores:
    """How right a subject's answers are, row by row.

    Attributes:
        system: whose codes they are.
        ranks: for each depth the place of the first match that is right so far, from 1; 0 where
            none of the first ten is.
        confidence: of the first match, from 0 to 1; 0 without one.
        odd_confidences: first matches whose confidence is no fraction; it is cut to 0 or 1.
        unanswered: 1 for a row without any match, 0 for the others.
        statuses: what became of the rows, as in the output of ``run``.
        languages: the number of each row's language in `tongues`.
        tongues: the languages, in the order in which they came.
        confused: how often each first answer that is wrong as far as the right code states stood
            for that.
        titles: what the subject calls the codes in `confused`.
    """

    system: System
    ranks: dict[Depth, array[int]] = field(init=False)
    confidence: array[float] = field(default_factory=lambda: array("d"))
    odd_confidences: int = 0
    unanswered: array[int] = field(default_factory=lambda: array("B"))
    statuses: Counter[str] = field(default_factory=Counter)
    languages: array[int] = field(default_factory=lambda: array("L"))
    tongues: dict[str, int] = field(default_factory=dict)
    confused: Counter[tuple[str, str]] = field(default_factory=Counter)
    titles: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.ranks = {depth: array("B") for depth in depths(self.system)}

    def add(
        self, answers: Sequence[Answer | None], truths: Sequence[str], languages: Sequence[str]
    ) -> None:
        """Take in the answers of some rows."""
        for answer, truth, language in zip(answers, truths, languages, strict=True):
            self.statuses[status(answer, 0.0)] += 1
            self.languages.append(self.tongues.setdefault(language, len(self.tongues)))
            self._add(answer, truth)

    def _add(self, answer: Answer | None, truth: str) -> None:
        matches = answer.matches[:MAX_TOP] if isinstance(answer, Matched) else ()
        codes = [normalized(self.system, match.code) or match.code for match in matches]
        for depth, ranks in self.ranks.items():
            ranks.append(depth.rank(self.system, truth, codes))
        self.unanswered.append(not matches)
        sure = matches[0].confidence if matches else 0.0
        self.odd_confidences += not 0.0 <= sure <= 1.0
        self.confidence.append(min(1.0, max(0.0, sure)))
        if codes and self.ranks[STATED][-1] != 1:
            self.confused[truth, codes[0]] += 1
            self.titles.setdefault(codes[0], matches[0].title)
