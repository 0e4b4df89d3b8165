"""Says how likely an expert accepts each of the best codes of a text.

The networks learned to write what buyers write, and buyers' codes are often wrong. Trees that
learned from an expert's judgement weigh what the networks say, the words and the meanings of the
titles, the act, and what the other systems find, and put the codes in order by the chance that they
are accepted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pipeline.answers import SYSTEMS, System
from pipeline.engine.acts import Act, acts_of_text
from pipeline.engine.model.candidates import TRAITS as LISTED
from pipeline.engine.model.candidates import Lister
from pipeline.engine.model.encoder import EncodedBatch, Scorer, places
from pipeline.engine.model.features import Composition
from pipeline.engine.model.matrices import Bools, Floats, Ints, Texts
from pipeline.engine.model.title_words import MEASURES, TitleWords, stems_of_text
from pipeline.engine.text.cleaning import cleaned

BINS = 10
"""Number of confidence bins in the calibration error."""

SHRINKAGE = 1.0
"""How strongly the weights of a calibration are kept near zero."""

SHRINKAGE_TO_START = 20.0
"""How strongly they are kept near those of another calibration.

The texts of a review are doubtful, so they say little about sure answers. With 1, the 11 held-out
texts of a review of 115 changed the weights so much that of 411 other texts, 5 were `ok` instead of
154."""

SPREADS = np.arange(0, 1.01, 0.05)


@dataclass(frozen=True, slots=True)
class Calibration:
    """How likely codes are right.

    Attributes:
        weights: coefficients of a logistic regression of "the first code is right" on `evidence`;
            intercept first.
        spread: how much doubt about the first code raises the other codes, from 0 to 1.
    """

    weights: Floats
    spread: float = 0.0

    def confidence(self, evidence: Floats) -> Floats:
        """Return how likely each text's first code is right."""
        # einsum sums each row in the same order, however many there are; BLAS does not.
        return probability(self.weights[0] + np.einsum("ij,j->i", evidence, self.weights[1:]))

    def others(self, best: Floats, first: Floats) -> Floats:
        """Return how likely the codes after the first are right.

        Args:
            best: texts x codes, the shares of the codes, highest first.
            first: how likely each text's first code is right.
        """
        return _others(best, first, self.spread)


def evidence(best: Floats, second: Floats, known_share: Floats) -> Floats:
    """Return the inputs to confidence: log odds, log lead, known share of the features minus 1."""
    best = np.clip(best.astype(np.float64), 1e-6, 1 - 1e-6)
    lead = np.log(best / np.clip(second, 1e-6, best))
    return np.stack([np.log(best / (1 - best)), lead, known_share - 1], axis=1)


def calibrate(evidence: Floats, right: Bools, start: Calibration | None = None) -> Calibration:
    """Fit by Newton's method; a larger known share of a text never lowers the confidence.

    Args:
        evidence: the `evidence` of each text.
        right: whether the first code of each text is right.
        start: the calibration to shrink towards, which dominates while there are few texts: that
            of the model that then gives most of the answers.
    """
    towards = np.zeros(evidence.shape[1] + 1) if start is None else start.weights
    strength = SHRINKAGE if start is None else SHRINKAGE_TO_START
    weights = logistic(evidence, right, strength, towards)
    if weights[-1] < 0:
        weights = np.append(logistic(evidence[:, :-1], right, strength, towards[:-1]), 0.0)
    return Calibration(weights)


def fitted_spread(best: Floats, first: Floats, hits: Floats) -> float:
    """Return the spread that best calibrates the codes after the first.

    Args:
        best: texts x codes, the shares of the codes, highest first.
        first: how likely each text's first code is right.
        hits: texts x codes, 1 where the code is right.
    """
    right = hits[:, 1:].sum()
    off = [abs(_others(best, first, spread).sum() - right) for spread in SPREADS]
    return float(SPREADS[int(np.argmin(off))])


def calibration_error(confidence: Floats, right: Bools) -> float:
    """Return the expected calibration error over bins of equal width."""
    tenth = np.minimum((confidence * BINS).astype(np.intp), BINS - 1)
    off = np.bincount(tenth, confidence, BINS) - np.bincount(tenth, right, BINS)
    return float(np.abs(off).sum() / max(1, len(right)))


def _others(best: Floats, first: Floats, spread: float) -> Floats:
    top = np.clip(best[:, 0].astype(np.float64), 1e-6, 1 - 1e-6)
    kept = (first / top) ** (1 - spread) * ((1 - first) / (1 - top)) ** spread
    others: Floats = np.minimum(best[:, 1:] * kept[:, None], first[:, None])
    return others


def logistic(
    inputs: Floats, right: Bools, strength: float, towards: Floats | None = None
) -> Floats:
    """Return the coefficients of a logistic regression, by Newton's method; intercept first.

    Args:
        inputs: rows x inputs.
        right: the outcome of each row.
        strength: how strongly the coefficients are kept near ``towards``.
        towards: the coefficients to shrink towards; zeros if None.
    """
    columns = np.column_stack([np.ones(len(inputs)), inputs]).astype(np.float64)
    weights = np.zeros(columns.shape[1])
    start = weights if towards is None else towards
    for _ in range(30):
        share = probability(columns @ weights)
        slope = columns.T @ (right - share) - strength * (weights - start)
        bend = (columns * (share * (1 - share))[:, None]).T @ columns
        weights = weights + np.linalg.solve(bend + strength * np.eye(len(weights)), slope)
    return weights


def probability(odds: Floats) -> Floats:
    """Return the probabilities with the given log odds."""
    chance: Floats = 1 / (1 + np.exp(-np.clip(odds, -500, 500)))
    return chance


LEAVES = 15
"""The most leaves of a tree; the set of those that are left fits in 16 bits."""

STEP = 1 / 4096
"""What one level of a leaf adds to the log odds. Sums of whole numbers are exact in any order, so
a text has the same answer in every batch."""

ALL = np.uint16(0xFFFF)
"""The set of all leaves."""

TOGETHER = 240
"""Rows that are weighed at once, so that the arrays stay near the processor."""

_SETS = np.arange(1, int(ALL) + 1)
_FIRST = np.append(0, np.log2(_SETS & -_SETS)).astype(np.uint8)
"""The first leaf of each set."""


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """The sum of many small trees.

    All questions of a tree are asked at once. Each "yes" excludes the leaves on one side, and the
    first leaf that is left counts (Lucchese et al., QuickScorer, 2015).

    Attributes:
        features: trees x questions, the column that each question is about.
        thresholds: trees x questions; the answer is whether the column is larger.
        excluded: trees x questions, uint16, the set of leaves that a "yes" excludes.
        leaves: trees x leaves, int16, levels of `STEP`.
    """

    features: Ints
    thresholds: Floats
    excluded: Ints
    leaves: Ints

    def odds(self, rows: Floats) -> Floats:
        """Return the log odds of each row of features."""
        parts = [rows[at : at + TOGETHER] for at in range(0, len(rows), TOGETHER)]
        return np.concatenate([np.empty(0), *map(self._odds, parts)])

    def _odds(self, rows: Floats) -> Floats:
        columns = np.ascontiguousarray(rows.T)
        out = np.zeros((len(self.features), len(rows)), np.uint16)
        for question in range(self.features.shape[1]):
            larger = columns[self.features[:, question]] > self.thresholds[:, question, None]
            out |= larger * self.excluded[:, question, None]
        trees = np.arange(len(out), dtype=np.int32)[:, None]
        leaf = trees * self.leaves.shape[1] + _FIRST[ALL ^ out]
        odds: Floats = STEP * self.leaves.reshape(-1)[leaf].sum(0, dtype=np.int32)
        return odds


GAINS: Mapping[Act, float] = {Act.LEASE: 2.0, Act.REPAIR: 1.5, Act.WORKS: 0.5}
"""What a code of an act gains in log odds if the text names this act before any other, times how
strongly; CPV and UNSPSC have few codes for hire, so there they gain nothing. Of judged notices as
many first codes are accepted as without, to within .003, but PSC and NAICS follow the verb of texts
about hire and repair more often, and road works are no machinery."""

NAMED = 0.3
"""How strongly a text must name the act for that."""

TINY = 1e-6

OWN_ACT = LISTED + 3
"""The trait that is the act of the candidate; those after it are how strongly the text names that
act and the strongest one."""

LENGTHS = (2, 4, 8)
"""Characters of the beginnings of codes for which it is known how often the expert accepts them."""

TRAITS = LISTED + 3 + 4 + len(Act) + 2 * len(SYSTEMS) + 5 + MEASURES + 2 + len(LENGTHS)
"""How many numbers describe a candidate; see `Evidence.traits`."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """What speaks for the best codes of a text in one system.

    Attributes:
        system: the system.
        lister: lists the best codes with what the networks and their words say of each.
        titles: the words of the titles.
        scorers: those of the general model, by system; the directions of all are in one space.
        rates: codes of the general model x `LENGTHS`: the log odds that the expert accepts a code
            that begins so, where it is among the best.
        places: where each code of the lister is among those of the general model.
    """

    system: System
    lister: Lister
    titles: TitleWords
    scorers: Mapping[System, Scorer]
    rates: Floats
    places: Ints

    @classmethod
    def of(
        cls,
        system: System,
        lister: Lister,
        titles: TitleWords,
        scorers: Mapping[System, Scorer],
        rates: Floats,
    ) -> Evidence:
        """Return the evidence of a system; for the arguments, see its attributes.

        Raises:
            ValueError: the general model lacks a code or a system.
        """
        if scorers.keys() != {*SYSTEMS}:
            raise ValueError("the general model beside it lacks a system")
        indices = places(scorers[system].codes, lister.codes)
        if indices.min() < 0:
            raise ValueError("the general model beside it lacks one of its codes")
        return cls(system, lister, titles, scorers, rates, indices)

    def traits(
        self, shares: Floats, batch: EncodedBatch, words: Composition
    ) -> tuple[Ints, Floats]:
        """Return (texts x candidates, the indices of the codes; texts x candidates x traits).

        Args:
            shares: texts x codes.
            batch: the texts.
            words: the texts, by the encoder whose words the lister knows.
        """
        candidates = self.lister.candidates(shares, words)
        best, general = candidates.places, self.places[candidates.places]
        texts = batch.texts
        own_shares, _ = batch.cached(self.scorers[self.system].shares)
        log = np.log(np.take_along_axis(own_shares, general, 1) + TINY)
        alone = [log, log - log.max(axis=1, keepdims=True), self._norms[general]]
        alone += self._acts(general, texts) + self._said(general, batch)
        alone += self._of_texts(texts, candidates.shares)
        columns = np.empty((*best.shape, len(alone)), np.float32)
        for number, values in enumerate(alone):
            columns[:, :, number] = values
        titles = self._titles(batch, self.lister.codes[best])
        near = self.scorers[self.system].nearness(batch, general)
        parts = (candidates.traits, columns, titles, near, self.rates[general])
        return best, np.concatenate(parts, axis=2)

    def _titles(self, batch: EncodedBatch, codes: Texts) -> Floats:
        """Return what the words of titles say; an item counts as much as its whole text."""
        rows, items = batch.items
        both = np.append(codes, codes[rows], axis=0)
        measured = self.titles.measured([*batch.texts, *items.texts], both)
        found, of_items = np.split(measured, [len(codes)])
        found[rows] = (found[rows] + of_items) / 2
        return found

    @cached_property
    def _norms(self) -> Floats:
        norms: Floats = np.linalg.norm(self.scorers[self.system].directions.rows(), axis=1)
        return norms

    def _acts(self, indices: Ints, texts: Sequence[str]) -> list[Floats]:
        """Return the act of each candidate, and how strongly the text names it and the others."""
        acts_of_codes = self.scorers[self.system].acts[indices]
        named = np.array([acts_of_text(text) for text in texts], np.float32)
        named = named.reshape(len(texts), len(Act))  # also without texts
        most = named.max(axis=1)[:, None]
        of_own = np.take_along_axis(named, acts_of_codes, 1)
        return [acts_of_codes, of_own, most, of_own - most, *(named[:, [act]] for act in Act)]

    def _said(self, indices: Ints, batch: EncodedBatch) -> list[Floats]:
        """Return what the best codes of each system say of a candidate: by meaning, and by act."""
        own_scorer = self.scorers[self.system]
        directions, acts = own_scorer.unit_directions[indices], own_scorer.acts[indices]
        traits: list[Floats] = []
        for system in SYSTEMS:
            scorer = self.scorers[system]
            heard, shares = batch.cached(scorer.heard)
            # Each text is multiplied by itself, so that the sums do not depend on the batch.
            others = scorer.unit_directions[heard].transpose(0, 2, 1)
            near = np.maximum(np.matmul(directions, others), 0)
            traits.append(np.einsum("nkj,nj->nk", near * near, shares))
            alike = acts[:, :, None] == scorer.acts[heard][:, None, :]
            traits.append(np.einsum("nkj,nj->nk", alike, shares))
        return traits

    def _of_texts(self, texts: Sequence[str], shares: Floats) -> list[Floats]:
        """Return what is known of a text: how long it is, and how sure the networks are."""
        whole = shares.sum(axis=1)
        part = shares / whole[:, None]
        doubt = -(part * np.log(part + TINY)).sum(axis=1)
        words = np.log1p([len(stems_of_text(text)) for text in texts])
        kept = [*map(cleaned, texts)]
        length = np.log1p([*map(len, kept)])
        digits = [sum(map(str.isdigit, text)) / max(1, len(text)) for text in kept]
        return [np.array(values)[:, None] for values in (words, length, digits, whole, doubt)]


@dataclass(frozen=True, eq=False)
class Acceptance:
    """Judges the best codes of one system.

    Attributes:
        evidence: what speaks for the codes.
        trees: weigh it.
        slope, start: turn the log odds of the trees into those of being accepted.
    """

    evidence: Evidence
    trees: Trees
    slope: float
    start: float

    def judged(
        self, shares: Floats, batch: EncodedBatch, words: Composition
    ) -> tuple[Ints, Floats]:
        """Judge the best codes of texts; for the arguments, see `Evidence.traits`.

        Returns:
            texts x candidates, the indices of the codes, the likeliest first; and how likely an
            expert accepts each.
        """
        indices, traits = self.evidence.traits(shares, batch, words)
        odds = log_odds(self.evidence.system, self.trees, traits)
        chances = probability(self.slope * odds + self.start)
        order = np.argsort(-chances, axis=1, kind="stable")
        return np.take_along_axis(indices, order, 1), np.take_along_axis(chances, order, 1)


def log_odds(system: System, trees: Trees, traits: Floats) -> Floats:
    """Return texts x candidates, the log odds of being accepted; see `Evidence.traits`."""
    odds = trees.odds(traits.reshape(-1, traits.shape[2])).reshape(traits.shape[:2])
    act, named, most = (traits[:, :, OWN_ACT + number] for number in range(3))
    gain = np.array([GAINS.get(kind, 0.0) for kind in Act])
    if system in ("cpv", "unspsc"):
        gain[Act.LEASE] = 0
    leads = (named == most) & (named >= NAMED)
    return odds + np.where(leads, gain[act.astype(np.intp)] * named, 0)
