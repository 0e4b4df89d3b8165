"""The embedded engine: ranks codes and explains them, in as many processes as asked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pipeline.answers import BatchAnswers, Explained, Match, Matched, System
from pipeline.codes import CodeTable, load
from pipeline.codes.table import parent
from pipeline.engine.model import ModelFolder, load_model, shipped_model
from pipeline.engine.model.encoder import Blend, Scorer, Scores, encode_batch, portions
from pipeline.engine.model.features import count, parts, tokens
from pipeline.engine.model.matrices import Bools, Floats, Ints, SparseRows, softmax
from pipeline.engine.model.model import Model, hashes, normal
from pipeline.engine.text.attribution import Reasons, in_title, named, strongest
from pipeline.processes import Jobs, in_processes, shared_out
from pipeline.settings import Settings

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

TITLED = 0.9
"""The confidence in a code whose title is the text."""


def explain(
    scores: Scores, texts: Sequence[str], indices: Sequence[Ints], usual: bool = False
) -> list[Reasons]:
    """Return the strongest words for the code of each text; none if the model knows no word of it.

    Args:
        scores: the scorer that gave the codes.
        texts: the texts that were coded, as few as are scored in one matrix.
        indices: for each text, the index of its code among the codes of the scorer, or the indices
            of several codes that were merged into one answer.
        usual: whether the words speak for the code against those that are usually likely, rather
            than against those that the text makes likely.
    """
    if isinstance(scores, Blend):
        return _of_blend(scores, texts, indices)
    vectors = scores.encoder.vocabulary.vectors(count(texts))
    features = scores.encoder.vocabulary.features[vectors.columns]
    pulls = _pulls(scores, vectors, indices, usual)
    reasons_found = [
        strongest(text, parts(text), features[start:end], pull, tokens)
        for text, (start, end), pull in zip(texts, pairwise(vectors.ends), pulls, strict=True)
    ]
    unexplained = [] if usual else [row for row, reasons in enumerate(reasons_found) if not reasons]
    # There, another code was the network's first choice, and every word speaks for that rather.
    if unexplained:
        portion = [texts[row] for row in unexplained], [indices[row] for row in unexplained]
        again = explain(scores, *portion, usual=True)
        for row, reasons in zip(unexplained, again, strict=True):
            reasons_found[row] = reasons
    return reasons_found


def _of_blend(blend: Blend, texts: Sequence[str], indices: Sequence[Ints]) -> list[Reasons]:
    """Explain each text by the model that adds more to its code, or else by the other one."""
    own = [of_text[of_text < len(blend.own.codes)] for of_text in indices]
    other = [np.flatnonzero(np.isin(blend.places, of_text)) for of_text in indices]
    from_own, from_other, _ = blend.parts(encode_batch(tuple(texts)))
    reasons = []
    for row, by_own, by_other in zip(
        range(len(texts)),
        explain(blend.own, texts, own),
        explain(blend.other, texts, other),
        strict=True,
    ):
        by_more = from_own[row, own[row]].sum() >= from_other[row, other[row]].sum()
        reasons.append(by_own or by_other if by_more else by_other or by_own)
    return reasons


def _pulls(
    scorer: Scorer, vectors: SparseRows, indices: Sequence[Ints], usual: bool
) -> Iterator[Floats]:
    """Yield how much evidence each feature of a text adds for its code; see `explain`."""
    weights = scorer.encoder.weights
    scores = scorer.directions(weights.sums(vectors)) + scorer.prior
    for text_scores, index, (start, end) in zip(
        scores, indices, pairwise(vectors.ends), strict=True
    ):
        way = _towards(scorer, scorer.prior if usual else text_scores, index)
        yield vectors.values[start:end] * (weights.rows(vectors.columns[start:end]) @ way)


def _towards(scorer: Scorer, scores: Floats, indices: Ints) -> Floats:
    """Return the vector from the mean of the other codes, weighted by share, to the given codes.

    The mean excludes the given codes: if their share were close to 1, the difference would
    otherwise be only rounding error.
    """
    given = np.zeros(len(scores), np.bool_)
    given[indices] = True
    if not given.any():
        return np.zeros(scorer.directions.width, np.float32)
    way: Floats = _centre(scorer, scores, given) - _centre(scorer, scores, ~given)
    return way


def _centre(scorer: Scorer, scores: Floats, chosen: Bools) -> Floats:
    """Return the mean of the directions of some codes, weighted by their shares."""
    if not chosen.any():
        return np.zeros(scorer.directions.width, np.float32)
    shares = softmax(scores[None, chosen])[0]
    if 2 * len(shares) < len(scores):
        return scorer.directions.combined(shares, chosen)
    every = np.zeros(len(scores), np.float32)
    every[chosen] = shares
    return scorer.directions.combined(every)  # without a copy of nearly all directions


TOGETHER = 50
"""How many extra codes to take from a model in which several are merged into one."""

REPEATED = "the same text in the history"


class Ranker:
    """Ranks the codes of one system for texts.

    If the model predicts a code that may not be given, its nearest ancestor that may be given
    replaces it, such as the class of a UNSPSC commodity. The confidences of codes that merge into
    one are summed.

    A code that the model does not know, from examples or from its title, is given only to a text
    that is its title, and comes first. A model trained on its history alone never gives it.

    Args:
        model: the trained model.
        table: the codes that may be given, and their titles.
    """

    def __init__(self, model: Model, table: CodeTable) -> None:
        self._model = model
        self._table = table
        codes: list[str] = model.codes.tolist()
        usual = table.assignable_codes
        self._given = np.array([code if code in usual else _above(table, code) for code in codes])
        self._extra = 0 if self._given.tolist() == codes else TOGETHER
        unknown = () if model.only_history else usual - {*codes, *self._given.tolist()}
        titles = table.titles.items()  # their order decides between two codes with one title
        self._by_title = {normal(title): code for code, title in titles if code in unknown}

    def rank(self, texts: Sequence[str], top: int) -> list[tuple[Match, ...]]:
        """Return up to ``top`` matches a text, best first, confidence from 0 to 1."""
        if not texts:
            return []
        ranked = self._learned(texts, top)
        if self._by_title:
            for row, code in enumerate(map(self._by_title.get, map(normal, texts))):
                if code is not None:
                    first = Match(code, self._table.titles[code], TITLED)
                    others = (
                        Match(match.code, match.title, round(min(match.confidence, 1 - TITLED), 4))
                        for match in ranked[row][: top - 1]
                    )
                    ranked[row] = (first, *others)
        return ranked

    def why(self, texts: Sequence[str], codes: Sequence[str]) -> list[str]:
        """Name the words that support each text's code, or say that the text is in the history."""
        learned = [row for row, code in enumerate(codes) if code in self._places]
        whys = dict.fromkeys(range(len(texts)), "")
        learned_texts = [texts[row] for row in learned]
        reasons = explain(
            self._model.scores, learned_texts, [self._places[codes[row]] for row in learned]
        )
        repeated, labels, _ = self._model.repeats.find(hashes(learned_texts))
        for row, words, again, label in zip(learned, reasons, repeated, labels, strict=True):
            is_repeat = again and self._given[label] == codes[row]
            whys[row] = REPEATED if is_repeat else named(words)
        return [
            why or in_title(text, self._table.titles.get(code, ""))
            for why, text, code in zip(whys.values(), texts, codes, strict=True)
        ]

    @cached_property
    def _places(self) -> dict[str, Ints]:
        """For each code that may be given, the indices of the model's codes that map to it."""
        indices: dict[str, list[int]] = defaultdict(list)
        for index, code in enumerate(self._given.tolist()):
            indices[code].append(index)
        return {code: np.array(its_indices) for code, its_indices in indices.items()}

    def _learned(self, texts: Sequence[str], top: int) -> list[tuple[Match, ...]]:
        indices, confidence = self._model.predict(texts, top + self._extra)
        rows = zip(self._given[indices].tolist(), confidence.tolist(), strict=True)
        return [self._matches(zip(codes, row, strict=True), top) for codes, row in rows]

    def _matches(self, scored: Iterable[tuple[str, float]], top: int) -> tuple[Match, ...]:
        sums: dict[str, float] = {}
        for code, sure in scored:
            if code and sure > 0:
                sums[code] = sums.get(code, 0.0) + sure
        best = sorted(sums.items(), key=lambda code_and_sum: -code_and_sum[1])[:top]
        titles = self._table.titles
        return tuple(Match(code, titles[code], round(min(1.0, sure), 4)) for code, sure in best)


def _above(table: CodeTable, code: str) -> str:
    """Return the nearest code above one that the table lacks; "" if it may not be given either."""
    above = "" if code in table else parent(table.system, code, table.titles)
    return above if above in table.assignable_codes else ""


ALONE = 8192
"""Answers after which ``auto`` starts processes: they take about as long as a start costs."""

_Asked: TypeAlias = tuple[System, ModelFolder | None]
"""The arguments of `ranker`."""


class Engine:
    """Answers offline and free.

    Args:
        systems: the systems to answer for.
        top: how many matches an answer has at most.
        jobs: the most processes; there are as many as are worth their start, this one among them.
            ``auto`` is this one until `ALONE` answers show that the table is large.
        models: models to use in place of the shipped ones.
        explain: whether answers name the words that count for the best code.
    """

    def __init__(
        self,
        systems: Sequence[System],
        top: int = 10,
        jobs: Jobs = 1,
        models: Mapping[System, ModelFolder] | None = None,
        explain: bool = False,
    ) -> None:
        by_system = models or {}
        self._systems = tuple((system, by_system.get(system)) for system in systems)
        self._answer = partial(_answer, self._systems, top, explain)
        self._jobs = jobs

    @classmethod
    def of(cls, settings: Settings, models: Mapping[System, ModelFolder]) -> Engine:
        """Return the engine that some settings ask for; it does not roll up."""
        top, jobs, explain = settings.matches_wanted, settings.jobs, settings.explain
        return cls(settings.systems, top, jobs, models, explain)

    def answers(self, batches: Iterable[Sequence[str]]) -> Iterator[BatchAnswers]:
        """Answer batches of texts; see `pipeline.answers.Matcher`.

        Raises:
            EngineError: a worker process died.
        """
        remaining, most = iter(batches), self._jobs
        if most == "auto":
            yield from self._first(remaining)
        jobs, remaining = shared_out(remaining, most)
        yield from in_processes(self._answer, remaining, jobs)

    def _first(self, batches: Iterator[Sequence[str]]) -> Iterator[BatchAnswers]:
        answered = 0
        for texts in batches:
            yield self._answer(texts)
            answered += len(set(texts)) * len(self._systems)
            if answered >= ALONE:
                return


def _answer(
    systems: Sequence[_Asked], top: int, explain: bool, texts: Sequence[str]
) -> BatchAnswers:
    """Answer one batch; a text that occurs several times is ranked once."""
    distinct = list(dict.fromkeys(text for text in texts if text))
    by_text: dict[System, dict[str, Matched]] = {asked[0]: {} for asked in systems}
    # More threads need more processor time and hardly save any: the matrices are small.
    with _blas().limit(limits=1, user_api="blas"):
        for portion in portions(distinct):
            # All systems for some texts before the next texts: they share the cleaned text.
            for asked in systems:
                answers = _matched(ranker(*asked), portion, top, explain)
                by_text[asked[0]].update(zip(portion, answers, strict=True))
    return {system: [answers.get(text) for text in texts] for system, answers in by_text.items()}


@cache
def _blas() -> ThreadpoolController:
    """Return what sets the threads of BLAS; finding its libraries takes a millisecond."""
    from threadpoolctl import ThreadpoolController  # not needed to show help or to buy

    return ThreadpoolController()


def _matched(ranks: Ranker, texts: Sequence[str], top: int, explain: bool) -> Sequence[Matched]:
    ranked = ranks.rank(texts, top)
    if not explain:
        return [*map(Matched, ranked)]
    best = {text: answer[0].code for text, answer in zip(texts, ranked, strict=True) if answer}
    whys = dict(zip(best, ranks.why(list(best), list(best.values())), strict=True))
    both = zip(texts, ranked, strict=True)
    return [Explained(answer, why=whys.get(text, "")) for text, answer in both]


@cache
def ranker(system: System, model: ModelFolder | None = None) -> Ranker:
    """Return what ranks the codes of a system by a model, the shipped one if none is given.

    Each process loads it once.

    Raises:
        SettingsError: the model is damaged, or was replaced since it was opened.
    """
    learned = load_model(model or shipped_model(), system)
    return Ranker(learned, load(system))
