"""Trains vectors of words and titles whose cosine tells how near a text is to a code in meaning.

A sentence encoder gives each word and each title a first vector. These learn from labels that a
text, the weighted sum of its words, is near the title of its code, and then from judged notices
that it is nearer to the codes that the expert accepts than to the others.

Trees weigh the cosine of a judged text. It would look better than on new texts if the vectors knew
the verdict. So it comes from vectors that learned no verdict on a notice of its source. Other texts
of the source are among the labels, as they are among those of the model that is judged.

PyTorch, which is imported where it is needed, is no dependency of the package.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from scipy import sparse

from pipeline.answers import System
from pipeline.engine.model.encoder import COLUMNS, ZERO, WordVectors
from pipeline.engine.model.features import BITS, Vocabulary
from pipeline.engine.model.matrices import Bools, Floats, Ints, Texts, rounded
from pipeline.engine.text.cleaning import readable
from pipeline.engine.training import Examples
from workshop.acceptance import Judgement, source_folds
from workshop.examples import Example

USUAL, TITLES_COUNT = 20_000, 2.0
"""The columns are those in which the titles, each of which counts so much, and so many of the most
usual words differ most: the vectors are for telling titles apart."""

DROPOUT, SMOOTHING = 0.3, 0.05
"""The share of a text's words that a step leaves out, so that none is all that matters, and of a
label's probability that goes to the other codes: buyers' labels are often wrong."""

SCALE, TRUST = 2.3, 0.7
"""At first: the logarithm of what a cosine is multiplied by; how the model's log share counts."""

LEVELS, SHRUNK = 7, (0.6, 0.7, 0.8, 0.9, 1.0)
"""Levels of 4 bits on either side of 0, and shares of a row's largest value that the last level may
stand for: to cut off a few large values often loses less."""

UNSEEN, TINY = -30.0, 1e-6
"""The score of a candidate that the expert did not see, which is no example of a wrong one."""

Embed: TypeAlias = Callable[[Sequence[str]], Floats]
"""Returns texts x dimensions: what a sentence encoder makes of texts."""

Weights: TypeAlias = dict[str, Any]
"""Tensors that are learned: ``words`` (word features x columns), ``gains`` (of each word: the
logarithm of what its weight is multiplied by), ``titles`` (titles of all systems x columns),
``turn`` (columns x columns, which titles are multiplied by), ``scale`` and ``trust`` (systems)."""


class Stage(NamedTuple):
    """Steps of ``batch`` texts, with a rate for each of `Weights`.

    The rates grow over ``warm_up`` steps, and fall to the share ``least``.
    """

    epochs: int
    batch: int
    warm_up: int
    least: float
    rates: Mapping[str, float]


_SLOW = {"turn": 1e-3, "scale": 1e-3}
FROM_LABELS = Stage(1, 512, 30, 0.02, {"words": 1e-2, "gains": 1e-2, "titles": 3e-3, **_SLOW})
_FINE = {"words": 2e-3, "gains": 6e-3, "titles": 1e-3, "trust": 1e-2, **_SLOW}
FROM_VERDICTS = Stage(2, 256, 8, 0.05, _FINE)
"""Few verdicts refine what many labels taught, so they change a word a fifth as quickly."""

log = logging.getLogger("pipeline")

Step = TypeVar("Step")


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """The best codes of the judged texts in one system, each texts x candidates.

    Attributes:
        codes: the codes.
        log: the logarithm of the share that the model gives each.
        right: whether the expert accepts it.
        known: whether the expert saw it.
    """

    codes: Texts
    log: Floats
    right: Bools
    known: Bools


@dataclass(frozen=True, slots=True, eq=False)
class Meanings:
    """Vectors as a model stores them, and what trees learn from.

    Attributes:
        words: word features x columns, float32, of 4-bit levels.
        titles: by system, codes x columns, float32, of unit length but for rounding.
        cosines: by system, judged texts x candidates, by vectors that learned from no verdict on
            the text's source; 0 for a code without a title.
    """

    words: Floats
    titles: Mapping[System, Floats]
    cosines: Mapping[System, Floats]


def train(
    vocabulary: Vocabulary,
    written: Counter[str],
    titles: Mapping[System, Mapping[str, str]],
    examples: Sequence[Example],
    judged: Sequence[Judgement],
    candidates: Mapping[System, Candidates],
    embed: Embed,
) -> Meanings:
    """Train the vectors of words and titles.

    Args:
        vocabulary: that of the model's encoder, whose word features get vectors.
        written: how often words are written, in lower case and with their accents.
        titles: by system, the title of each code.
        examples: labelled texts, titles in all languages, and phrases.
        judged: the judged texts.
        candidates: their best codes, in each system.
        embed: the sentence encoder.
    """
    trainer = _Trainer(vocabulary, titles, judged, candidates)
    learned = trainer.first(written, embed)
    log.info("learning from %s labels", f"{len(examples):,}")
    trainer.learn_labels(learned, examples)
    folds = source_folds([each.source for each in judged])
    cosines = {name: np.zeros(each.log.shape, np.float32) for name, each in candidates.items()}
    for fold in np.unique(folds).tolist():
        log.info("learning from verdicts without those on the sources of part %d", fold + 1)
        held = folds == fold
        words, vectors = trainer.stored(trainer.learn_verdicts(learned, np.flatnonzero(~held)))
        texts = unit(trainer.texts[held] @ words)
        for name, places in trainer.places.items():
            near = np.einsum("nd,nkd->nk", texts, vectors[places[held]])
            cosines[name][held] = np.where(places[held] < 0, 0, near)
    log.info("learning from all verdicts")
    words, vectors = trainer.stored(trainer.learn_verdicts(learned, np.arange(len(judged))))
    return Meanings(words, {name: vectors[own] for name, own in trainer.spans.items()}, cosines)


class _Trainer:
    """Learns vectors from labels and from verdicts.

    Attributes:
        texts: judged texts x word features: the weights that the engine gives words.
        spans: the rows of each system among the titles.
        places: by system, judged texts x candidates: the row of each one's title, or -1.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        titles: Mapping[System, Mapping[str, str]],
        judged: Sequence[Judgement],
        candidates: Mapping[System, Candidates],
    ) -> None:
        self._vocabulary, self._candidates = vocabulary, candidates
        self._width = int(np.searchsorted(vocabulary.features, 1 << BITS))
        self._titles = [title for each in titles.values() for title in each.values()]
        pairs = [(system, code) for system, each in titles.items() for code in each]
        self._row = {pair: row for row, pair in enumerate(pairs)}
        ends = np.cumsum([0, *map(len, titles.values())]).tolist()
        self.spans = {name: slice(*ends[at : at + 2]) for at, name in enumerate(titles)}
        self.texts = self._word_weights([each.text for each in judged])
        self.places = {
            name: np.array(
                [[self._row.get((name, code), -1) for code in row] for row in each.codes.tolist()]
            )
            for name, each in candidates.items()
        }
        self._random = np.random.default_rng(0)

    def _word_weights(self, texts: Sequence[str]) -> sparse.csr_matrix:
        """Return texts x word features, as the engine weighs words."""
        return Examples.of(texts, [""] * len(texts)).vectors(self._vocabulary, self._width)

    def first(self, written: Counter[str], embed: Embed) -> Weights:
        """Return the first vectors: what the sentence encoder makes of words and titles."""
        import torch

        spelt = _usual_spellings(self._vocabulary, written)
        log.info("encoding %s words and %s titles", f"{len(spelt):,}", f"{len(self._titles):,}")
        words, titles = (np.asarray(embed(each)) for each in (list(spelt.values()), self._titles))
        words, titles = words - words.mean(axis=0), titles - titles.mean(axis=0)
        most = np.concatenate([TITLES_COUNT * titles, words[:USUAL]])
        axes = np.linalg.svd(most.T @ most)[2][:COLUMNS].T
        words, titles = words @ axes, titles @ axes
        start = np.zeros((self._width, axes.shape[1]), np.float32)
        start[list(spelt)] = words / np.linalg.norm(words, axis=1).mean()
        found = {
            "words": start,
            "gains": np.zeros(self._width),
            "titles": unit(titles),
            "turn": np.eye(axes.shape[1]),
            "scale": np.array(SCALE),
            "trust": np.full(len(self.places), TRUST),
        }
        return {
            name: torch.tensor(values, dtype=torch.float32, requires_grad=True)
            for name, values in found.items()
        }

    def learn_labels(self, weights: Weights, examples: Sequence[Example]) -> None:
        """Teach vectors which title each text is nearest to, of those of its system."""
        import torch
        from torch.nn import functional

        texts = self._word_weights([each.text for each in examples])
        rows = np.array([self._row.get((each.system, each.code), -1) for each in examples])
        counts = np.array([each.weight for each in examples], np.float32)
        usable = (rows >= 0) & (np.diff(texts.indptr) > 0)
        steps: list[tuple[System, Ints]] = []
        for system, span in self.spans.items():
            some = usable & (rows >= span.start) & (rows < span.stop)
            steps += [(system, each) for each in self._batches(np.flatnonzero(some), FROM_LABELS)]
        order = self._random.permutation(len(steps)).tolist()

        def loss(step: tuple[System, Ints]) -> Any:
            system, batch = step
            span = self.spans[system]
            near = self._of_texts(weights, texts[batch]) @ _of_titles(weights, span).T
            right = torch.from_numpy(rows[batch] - span.start)
            # To choose among all codes of a system takes larger scores than among candidates.
            scores = 2 * torch.exp(weights["scale"]) * near
            each = functional.cross_entropy(
                scores, right, reduction="none", label_smoothing=SMOOTHING
            )
            count = torch.from_numpy(counts[batch])
            return (each * count).sum() / count.sum()

        _descend(weights, FROM_LABELS, [steps[at] for at in order], loss)

    def learn_verdicts(self, learned: Weights, some: Ints) -> Weights:
        """Return vectors that also learned from verdicts on some texts, and leave the others."""
        import torch
        from torch.nn import functional

        weights = {name: each.detach().clone().requires_grad_() for name, each in learned.items()}
        self._random = np.random.default_rng(0)

        def loss(batch: Ints) -> Any:
            texts, total = self._of_texts(weights, self.texts[batch]), 0 * weights["scale"]
            for trust, (system, each) in zip(
                weights["trust"], self._candidates.items(), strict=True
            ):
                places = self.places[system][batch]
                titles = _of_titles(weights, torch.from_numpy(places.clip(0)))
                near = (titles * texts[:, None]).sum(2) * torch.from_numpy(places >= 0)
                right = torch.from_numpy(each.right[batch])
                shown = torch.from_numpy(each.known[batch]) | right
                scores = trust * torch.from_numpy(each.log[batch])
                scores = scores + torch.exp(weights["scale"]) * near
                chances = functional.log_softmax(scores.masked_fill(~shown, UNSEEN), 1)
                number = right.sum(1)
                if number.any():
                    means = (right * chances).sum(1)[number > 0] / number[number > 0]
                    total = total - means.mean()
            return total

        _descend(weights, FROM_VERDICTS, self._batches(some, FROM_VERDICTS), loss)
        return weights

    def _batches(self, rows: Ints, stage: Stage) -> list[Ints]:
        """Divide rows into batches, in a new order for each epoch."""
        parts = max(1, len(rows) // stage.batch)
        orders = [self._random.permutation(rows) for _ in range(stage.epochs)]
        found = [batch for order in orders for batch in np.array_split(order, parts)]
        return [batch for batch in found if len(batch)]

    def _of_texts(self, weights: Weights, texts: sparse.csr_matrix) -> Any:
        """Return texts x columns of unit length, without some words of each text."""
        import torch
        from torch.nn import functional

        kept = self._random.random(len(texts.data)) >= DROPOUT
        columns = torch.from_numpy(texts.indices.astype(np.int64))
        counts = torch.from_numpy(texts.data * kept.astype(np.float32))
        sums = functional.embedding_bag(
            columns,
            weights["words"],
            torch.from_numpy(texts.indptr[:-1].astype(np.int64)),
            mode="sum",
            per_sample_weights=counts * torch.exp(weights["gains"][columns]),
        )
        return functional.normalize(sums, dim=1, eps=TINY)

    def stored(self, weights: Weights) -> tuple[Floats, Floats]:
        """Return words and titles of all systems as a model stores them."""
        found = {name: each.detach().numpy() for name, each in weights.items()}
        words = in_four_bits(found["words"] * np.exp(found["gains"])[:, None]).rows()
        return words, rounded(unit(found["titles"] @ found["turn"])).rows()


def _of_titles(weights: Weights, which: Any) -> Any:
    """Return the titles in some rows, of unit length."""
    from torch.nn import functional

    return functional.normalize(weights["titles"][which] @ weights["turn"], dim=-1, eps=TINY)


def _descend(
    weights: Weights, stage: Stage, steps: Sequence[Step], loss: Callable[[Step], Any]
) -> None:
    """Improve the weights step by step."""
    import torch

    groups = [{"params": [weights[name]], "lr": rate} for name, rate in stage.rates.items()]
    optimizer = torch.optim.Adam(groups, betas=(0.9, 0.99))
    for number, step in enumerate(steps):
        share = min(1, (number + 1) / stage.warm_up) * max(stage.least, 1 - number / len(steps))
        for group, rate in zip(optimizer.param_groups, stage.rates.values(), strict=True):
            group["lr"] = share * rate
        optimizer.zero_grad()
        loss(step).backward()
        optimizer.step()


def spellings(written: Counter[str]) -> dict[str, Counter[str]]:
    """Return how often each word, without case and accents, is spelt how."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for word, number in written.items():
        found[readable(word)][word] += number
    return found


def _usual_spellings(vocabulary: Vocabulary, written: Counter[str]) -> dict[int, str]:
    """Return, by feature, the usual spellings of the words that the vocabulary has."""
    spelt = spellings(written)
    words = sorted(spelt, key=lambda word: (spelt[word].total(), word))
    known, places = vocabulary.find_words(words)
    pairs = zip(places[known].tolist(), compress(words, known), strict=True)
    found = dict(pairs)  # of words with one feature, the last: the most usual
    most = sorted(found.items(), key=lambda item: -spelt[item[1]].total())
    return {place: spelt[word].most_common(1)[0][0] for place, word in most}


def unit(rows: Floats) -> Floats:
    """Return rows scaled to unit length; those of zeros stay."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    found: Floats = (rows / np.maximum(lengths, TINY)).astype(np.float32)
    return found


def in_four_bits(rows: Floats) -> WordVectors:
    """Round rows to levels times a scale of 16 bits, the one of a few that loses least.

    Rows that were rounded so before stay as they are.
    """
    best = np.zeros(rows.shape, np.int8)
    scales, least = np.zeros(len(rows), np.float16), np.full(len(rows), np.inf)
    for share in SHRUNK:
        scale = (np.abs(rows).max(axis=1) * share / LEVELS).astype(np.float16)
        value = np.where(scale > 0, scale, 1).astype(np.float32)[:, None]
        levels = np.rint(rows / value).clip(-LEVELS, LEVELS)
        lost = ((levels * value - rows) ** 2).sum(axis=1)
        better = lost < least
        best[better], scales[better] = levels[better], scale[better]
        least[better] = lost[better]
    packed = (best + ZERO).astype(np.uint8).reshape(len(rows), COLUMNS // 2, 2)
    return WordVectors(packed[:, :, 0] * 16 + packed[:, :, 1], scales)
