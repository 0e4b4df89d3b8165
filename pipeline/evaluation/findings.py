"""What an evaluation has found of each subject, and of people's decisions, also as JSON types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from typing import Any, Literal

from pipeline.answers import System
from pipeline.decisions.decisions import Decisions
from pipeline.evaluation.metrics import (
    FEW,
    STATED,
    Depth,
    Figures,
    GroupFigures,
    Share,
    percent,
)
from pipeline.evaluation.significance import Comparison
from pipeline.money import plain
from pipeline.pages import WANTED
from pipeline.purchases import Paid
from pipeline.wording import how_many, readable


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

    def counted(self) -> Iterator[str]:
        """Yield what else was counted of the answers."""
        figures, verdicts = self.figures, self.figures.verdicts
        without = {name: count for name, count in figures.statuses.items() if name != "ok"}
        if without:
            stated = ", ".join(f"{readable(name)} {n:,}" for name, n in without.items())
            missing = f"{figures.unanswered} ({stated})"
            yield f"No answer from {self.name}: {missing}. It counts as wrong."
        if figures.odd_confidences:
            odd = how_many(figures.odd_confidences, "row")
            yield f"Confidence of {self.name} outside 0 to 1, clipped: {odd}."
        if verdicts and verdicts["unjudged"].hits:
            nobody = how_many(verdicts["unjudged"].hits, "row")
            yield f"First code of {self.name} not judged, and left out: {nobody}."
        if self.cost is not None:
            usd = self.cost.answers_usd
            worth = "at prices that are partly unknown"
            prices = worth if usd is None else f"worth {plain(usd)} USD"
            yield f"{self.cost.answers:,} answers {prices}."
            yield from str(self.cost.paid).splitlines()

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON types."""
        return {
            "name": self.name,
            "kind": self.kind,
            "model_sha256": self.model_sha256,
            "learned_rows": self.learned,
            **_figures_dict(self.figures),
            "failed": self.failed,
            "cost": encoded(self.cost),
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
        shown = [
            decision
            for decision in decisions.about(system)
            if decision.model and not decision.batch
        ]
        kept = sum(decision.is_kept for decision in shown)
        none_fits = sum(not decision.code for decision in shown)
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


def encoded(value: Any) -> Any:
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
            return dict(zip(names, map(encoded, value.values()), strict=True))
        case Sequence():
            return [encoded(each) for each in value]
        case _:
            return {each.name: encoded(getattr(value, each.name)) for each in fields(value)}


def _figures_dict(figures: Figures) -> dict[str, Any]:
    """Return the figures of one subject."""
    figures_dict: dict[str, Any] = encoded(replace(figures, depths={}))
    del figures_dict["depths"], figures_dict["bins"], figures_dict["surest"]
    specific, bare = figures_dict.pop("specific"), figures_dict.pop("bare")
    stated, level = encoded(figures.depths[STATED][1]), figures.broad.name
    headline = {"level": level, "specific": specific, "stated": stated, "bare": bare}
    return {
        **figures_dict,
        "headline": specific and headline,
        "accuracy": {
            depth.name: {
                "digits": depth.digits if isinstance(depth.digits, int) else None,
                **encoded(top),
            }
            for depth, top in figures.depths.items()
        },
        "reliability": [
            {
                "from": bin_.low,
                "to": bin_.high,
                "rows": bin_.right.rows,
                "confidence": bin_.confidence,
                "right": encoded(bin_.right),
            }
            for bin_ in figures.bins
        ],
        "coverage": [figures.coverage(accuracy) for accuracy in WANTED],
        "sources": [*map(_source, figures.sources)],
    }


def comparison_dict(comparison: Comparison) -> dict[str, Any]:
    """Return what two subjects, "a" and "b", differ in."""
    return {
        "better": comparison.better,
        "differences": [
            {
                "depth": difference.depth.name,
                "a_alone": difference.only_a,
                "b_alone": difference.only_b,
                "difference": difference.value,
                "low": difference.interval[0],
                "high": difference.interval[1],
                "p": difference.p,
            }
            for difference in comparison.differences
        ],
        "paid": comparison.paid,
        "answers_usd": encoded(comparison.usd),
        "usd_per_right_code": encoded(comparison.usd_per_code),
    }


def _source(group: GroupFigures) -> dict[str, Any]:
    source: dict[str, Any] = encoded(group)
    return {"source": source.pop("name"), "rows": group.broad.rows, **source.pop("top"), **source}
