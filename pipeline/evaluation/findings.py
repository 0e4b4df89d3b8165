"""The findings of an evaluation: the rows, the subjects and all figures, also as JSON types."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from typing import Any, Literal

from pipeline.answers import System
from pipeline.decisions.merged import Decisions
from pipeline.evaluation.dataset import LeftOut
from pipeline.evaluation.metrics import (
    FEW,
    STATED,
    Depth,
    Figures,
    GroupFigures,
    Share,
    shown_depths,
)
from pipeline.evaluation.phrases import (
    part,
    percent,
    rows,
    threshold_sentence,
    verdict,
)
from pipeline.evaluation.settings import EvaluationSettings
from pipeline.evaluation.significance import Comparison, Difference
from pipeline.money import plain
from pipeline.pages import WANTED
from pipeline.purchases import Paid
from pipeline.quoting import how_many, readable


@dataclass(frozen=True, slots=True)
class Cost:
    """What the answers of a paid service cost.

    Attributes:
        paid: what this evaluation paid; answers bought before cost nothing.
        answers: the number of distinct answers.
        answers_usd: the sum of their prices, whenever they were bought, US dollars; None if a
            response stated no price.
    """

    paid: Paid
    answers: int
    answers_usd: Decimal | None


@dataclass(frozen=True, slots=True)
class Evaluated:
    """One subject with its figures.

    Attributes:
        name: its name in reports.
        kind: what it is.
        figures: how good it is.
        cost: what its answers cost; None for a free one.
        model_sha256: the checksum of a learned model.
        learned: how many of the rows have a text that this model was trained on.
    """

    name: str
    kind: Literal["engine", "model", "service"]
    figures: Figures
    cost: Cost | None = None
    model_sha256: str | None = None
    learned: int = 0

    @property
    def failed(self) -> int:
        """Rows whose call failed."""
        good = ("ok", "no_match")
        return sum(rows for name, rows in self.figures.statuses.items() if name not in good)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON types."""
        return {
            "name": self.name,
            "kind": self.kind,
            "model_sha256": self.model_sha256,
            "learned_rows": self.learned,
            **_figures_dict(self.figures),
            "failed": self.failed,
            "cost": _encoded(self.cost),
        }


@dataclass(frozen=True, slots=True)
class Review:
    """What people did with the codes that they were shown: each decision made by itself counts.

    Attributes:
        kept: they chose the code.
        changed: they chose another one.
        none_fits: they found that no code fits.
    """

    kept: int
    changed: int
    none_fits: int

    @classmethod
    def of(cls, decisions: Decisions, system: System) -> Review | None:
        """Return what decisions say of the codes of a system; None if they say of none.

        A decision that names no model says nothing of the code that was shown.
        """
        shown = [each for each in decisions.about(system) if each.model and not each.batch]
        kept = sum(each.is_kept for each in shown)
        none_fits = sum(not each.code for each in shown)
        return cls(kept, len(shown) - kept - none_fits, none_fits) if shown else None

    @property
    def shares(self) -> dict[str, Share]:
        """The share of each kind, by its name."""
        named = {"kept": self.kept, "changed": self.changed, "no code fits": self.none_fits}
        return {name: Share(count, sum(named.values())) for name, count in named.items()}

    def __str__(self) -> str:
        kept = self.shares["kept"]
        share = f" ({percent(kept.value)})" if kept.rows >= FEW else ""
        return (
            f"People kept {kept.hits:,} of {how_many(kept.rows, 'code')}{share}, "
            f"changed {self.changed:,}, and found that no code fits for {self.none_fits:,}."
        )


@dataclass(frozen=True, repr=False)
class Findings:
    """What an evaluation has found; `pipeline.Evaluation` has the attributes and shows them."""

    settings: EvaluationSettings
    table: str
    table_sha256: str
    edition: str
    left_out: LeftOut
    subjects: Sequence[Evaluated]
    comparison: Comparison | None = None
    review: Review | None = None

    @property
    def rows(self) -> int:
        """The rows that were evaluated."""
        return self.subjects[0].figures.rows

    @property
    def verdict(self) -> str:
        """The outcome in a few sentences."""
        names = [subject.name for subject in self.subjects]
        figures = [subject.figures for subject in self.subjects]
        said, level = [verdict(names, figures, self.comparison)], figures[0].broad.name
        if figures[0].measured == STATED:
            said.append(
                f"No label is deeper than a {level}, so every code of the right {level} counts as "
                "right; full codes cannot be judged."
            )
        said += [
            f"But {subject.name} was trained on the texts of {subject.learned:,} of the "
            f"{rows(self.rows)}, and repeats what it learned: evaluate it on other rows."
            for subject in self.subjects
            if subject.learned
        ]
        return " ".join(said)

    @property
    def conclusions(self) -> list[str]:
        """What follows from the figures, in plain words: a sentence or a few each."""
        alone = self.comparison is None
        threshold = [threshold_sentence(each.figures) for each in self.subjects if alone]
        return [*([str(self.review)] if self.review else []), self.verdict, *threshold]

    def counted(self) -> Iterator[str]:
        """Yield what else was counted of the answers of each subject."""
        for subject in self.subjects:
            figures, verdicts = subject.figures, subject.figures.verdicts
            without = {name: count for name, count in figures.statuses.items() if name != "ok"}
            if without:
                stated = ", ".join(f"{readable(name)} {n:,}" for name, n in without.items())
                missing = f"{part(figures.unanswered)} ({stated})"
                yield f"No answer from {subject.name}: {missing}. It counts as wrong."
            if figures.odd_confidences:
                odd = rows(figures.odd_confidences)
                yield f"Confidence of {subject.name} outside 0 to 1, clipped: {odd}."
            if verdicts and verdicts["unjudged"].hits:
                nobody = rows(verdicts["unjudged"].hits)
                yield f"First code of {subject.name} not judged, and left out: {nobody}."
            if subject.cost is not None:
                usd = subject.cost.answers_usd
                worth = "at prices that are partly unknown"
                prices = worth if usd is None else f"worth {plain(usd)} USD"
                yield f"{subject.cost.answers:,} answers {prices}."
                yield from str(subject.cost.paid).splitlines()

    def differences(self) -> Iterator[tuple[Difference, list[Share]]]:
        """Yield how two subjects differ in best codes, with the share of each that is right.

        Only the depths to show; nothing for one subject.
        """
        figures = [subject.figures for subject in self.subjects]
        shown = {depth for each in figures for depth in shown_depths(each)}
        for difference in self.comparison.differences if self.comparison else ():
            if difference.depth in shown:
                yield difference, [each.depths[difference.depth][1] for each in figures]

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON types, as docs/how-to/evaluate.md describes; money as text."""
        left_out: Mapping[str, Any] = {
            "without_text": self.left_out.without_text,
            "without_code": self.left_out.without_code,
            "no_codes": dict(self.left_out.no_codes.most_common()),
        }
        return {
            "system": self.settings.system,
            "edition": self.edition,
            "table": self.table,
            "table_sha256": self.table_sha256,
            "table_rows": self.left_out.rows,
            "left_out": left_out,
            "unknown_codes": dict(self.left_out.unknown.most_common()),
            "sample": self.settings.sample,
            "seed": self.settings.seed,
            "rows": self.rows,
            "verdict": self.verdict,
            "review": self.review and _encoded(self.review),
            "subjects": [subject.to_dict() for subject in self.subjects],
            "comparison": self.comparison and _comparison_dict(self.comparison),
        }

    def to_json(self) -> str:
        """Return the figures as JSON."""
        return json.dumps(self.to_dict())


def _encoded(value: Any) -> Any:
    """Return a value as JSON types: money as text, a share with its interval."""
    match value:
        case None | str() | int() | float():
            return value
        case Decimal():
            return plain(value)
        case Depth():
            return value.name
        case Share():
            low, high = value.interval
            return {"hits": value.hits, "share": value.value, "low": low, "high": high}
        case Mapping():
            names = (f"top_{key}" if isinstance(key, int) else key for key in value)
            return dict(zip(names, map(_encoded, value.values()), strict=True))
        case Sequence():
            return [_encoded(each) for each in value]
        case _:
            return {each.name: _encoded(getattr(value, each.name)) for each in fields(value)}


def _figures_dict(figures: Figures) -> dict[str, Any]:
    """Return the figures of one subject."""
    found: dict[str, Any] = _encoded(replace(figures, depths={}))
    del found["depths"], found["bins"], found["surest"]
    specific, bare = found.pop("specific"), found.pop("bare")
    stated, level = _encoded(figures.depths[STATED][1]), figures.broad.name
    headline = {"level": level, "specific": specific, "stated": stated, "bare": bare}
    return {
        **found,
        "headline": specific and headline,
        "accuracy": {
            depth.name: {
                "digits": depth.digits if isinstance(depth.digits, int) else None,
                **_encoded(top),
            }
            for depth, top in figures.depths.items()
        },
        "reliability": [
            {
                "from": each.low,
                "to": each.high,
                "rows": each.right.rows,
                "confidence": each.confidence,
                "right": _encoded(each.right),
            }
            for each in figures.bins
        ],
        "coverage": [figures.coverage(wanted) for wanted in WANTED],
        "sources": [*map(_source, figures.sources)],
    }


def _comparison_dict(comparison: Comparison) -> dict[str, Any]:
    """Return what two subjects, "a" and "b", differ in."""
    return {
        "better": comparison.better,
        "differences": [
            {
                "depth": each.depth.name,
                "a_alone": each.only_a,
                "b_alone": each.only_b,
                "difference": each.value,
                "low": each.interval[0],
                "high": each.interval[1],
                "p": each.p,
            }
            for each in comparison.differences
        ],
        "paid": comparison.paid,
        "answers_usd": _encoded(comparison.usd),
        "usd_per_right_code": _encoded(comparison.usd_per_code),
    }


def _source(group: GroupFigures) -> dict[str, Any]:
    found: dict[str, Any] = _encoded(group)
    return {"source": found.pop("name"), "rows": group.broad.rows, **found.pop("top"), **found}
