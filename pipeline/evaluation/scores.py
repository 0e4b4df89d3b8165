"""What an evaluation keeps of each answer: a few numbers and codes a row, no texts."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from sys import intern
from typing import Literal

from pipeline.answers import Answer, Matched, System
from pipeline.bands import Band, band
from pipeline.classification.columns import status
from pipeline.codes import normalized
from pipeline.decisions import Decision, Verdict
from pipeline.evaluation.depths import ACCEPTED, Depth, depths, measured_depth
from pipeline.settings import MAX_TOP

__all__ = ["Scores"]


@dataclass(slots=True)
class Scores:
    """A candidate's answers compared with the labels, row by row.

    Attributes:
        system: whose codes they are.
        ranks: for each depth, the one that says what is right first, the rank of the first match
            that is right to that depth, from 1; 0 where none of the first ten is.
        confidence: of the best match, from 0 to 1; 0 without one.
        bands: the band of the best match; "" without one.
        odd_confidences: best matches whose confidence is no fraction; it is clipped to 0 or 1.
        statuses: how many rows have each status, as in the output of ``run``.
        labels: the code that the table states.
        best: the code of the best match; "" without one.
        languages: the row's language; "" where the table names none.
        sources: the row's source; "" where the table names none.
        titles: the candidate's titles for the codes in `best`.
        verdicts: what people decided about the best match; empty for a labelled table.
    """

    system: System
    ranks: dict[Depth, array[int]] = field(init=False)
    confidence: array[float] = field(default_factory=lambda: array("d"))
    bands: list[Band | Literal[""]] = field(default_factory=list)
    odd_confidences: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    labels: list[str] = field(default_factory=list)
    best: list[str] = field(default_factory=list)
    languages: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    titles: dict[str, str] = field(default_factory=dict)
    verdicts: list[Verdict] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ranks = {depth: array("B") for depth in depths(self.system)}

    @property
    def measured(self) -> Depth:
        """To what depth a code must be right to count as right."""
        return ACCEPTED if self.verdicts else measured_depth(self.system, self.labels)

    def add(
        self,
        answers: Sequence[Answer | None],
        labels: Sequence[str],
        languages: Sequence[str],
        sources: Sequence[str],
        decided: Sequence[Decision | None] = (),
    ) -> None:
        """Add the answers of some rows, with the decision about each if there are any."""
        if decided and ACCEPTED not in self.ranks:
            self.ranks = {ACCEPTED: array("B"), **self.ranks}
        known = decided or [None] * len(labels)
        for answer, label, decision in zip(answers, labels, known, strict=True):
            self.statuses[status(answer, 0.0)] += 1
            self._add(answer, label, decision)
        # One string object for each distinct value: a row then takes one pointer.
        self.labels += map(intern, labels)
        self.languages += map(intern, languages)
        self.sources += map(intern, sources)

    def _add(self, answer: Answer | None, label: str, decision: Decision | None) -> None:
        matches = answer.matches[:MAX_TOP] if isinstance(answer, Matched) else ()
        codes = [normalized(self.system, match.code) or match.code for match in matches]
        if ACCEPTED in self.ranks:
            verdicts = [decision.verdict(code) if decision else "unjudged" for code in codes]
            self.verdicts.append(verdicts[0] if verdicts else "wrong")
            rank = verdicts.index("accepted") + 1 if "accepted" in verdicts else 0
            self.ranks[ACCEPTED].append(rank)
        for depth in depths(self.system):
            self.ranks[depth].append(depth.rank(self.system, label, codes))
        confidence = matches[0].confidence if matches else 0.0
        self.bands.append(band(self.system, confidence) if matches else "")
        self.odd_confidences += not 0.0 <= confidence <= 1.0
        self.confidence.append(min(1.0, max(0.0, confidence)))
        self.best.append(intern(codes[0]) if codes else "")
        if codes:
            self.titles.setdefault(codes[0], matches[0].title)
