"""Fine-tunes the package's networks with descriptions written for every code.

Notices name the usual purchases again and again, and most codes, and most words for them, hardly
ever. The descriptions have several texts for nearly every code. Their words become known, and words
and codes learn from them, from labels and from titles; what the networks said of a text before is
learned as well, so that they say of notices what they said.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import compress
from typing import Any

import numpy as np
from scipy import sparse

from pipeline.answers import System
from pipeline.engine.model.encoder import Codebook, Encoder, nearest_centres
from pipeline.engine.model.features import BITS, Vocabulary, count, hashed_features, word_hashes
from pipeline.engine.model.matrices import Floats, Ints, find, rounded
from pipeline.engine.model.model import Model
from pipeline.engine.training import Examples
from pipeline.engine.training.dataset import PART
from workshop.examples import Example, Written
from workshop.word_vectors import TINY, Embed, spellings, unit

MOST_NEW, SHORTEST = 45_000, 3
"""The most words that become known, and the characters of the shortest."""

MOST, EACH = 569_000, 10
"""The most features: parts of words and pairs that move texts least give way to new words. One of
so many examples tells how much."""

RIDGE = 1.0
"""How strongly the map from what the sentence encoder makes of a word to its weights is shrunk."""

EPOCHS, BATCH, LEAST_RATE = 2, 512, 0.05
"""Times that each text is read, texts a step, and the share of the rates left at the end."""

RATE_OF_CODES, RATE_OF_WORDS, TIMES_RAREST = 0.02, 0.1, 3.0
"""The rates at first, in standard deviations of the weights; and how much faster the rarest words
learn, which few texts teach."""

BEFORE = 1.0
"""What the shares that the networks gave before count, against one for the labels."""

NEARNESS, NEARNESS_OF_WORDS = 1e-3, 3e-4
"""How strongly weights are kept near where they were: the cost of one standard deviation."""

AT_ONCE = 16_384
"""Texts whose features are counted at once."""

log = logging.getLogger("pipeline")


def fine_tuned(
    models: Mapping[System, Model], examples: Sequence[Example], written: Written, embed: Embed
) -> dict[System, Model]:
    """Return models that know more words, and whose words and codes also learned from texts.

    Args:
        models: what the networks' training made; they share their encoder.
        examples: texts; those with a code that the models lack are left out.
        written: how often words are written in them.
        embed: the sentence encoder, which gives new words their first weights.
    """
    texts = [each.text for each in examples[::EACH]]
    encoder = with_words(next(iter(models.values())).own.encoder, written, texts, embed)
    log.info("fine-tuning with %s texts", f"{len(examples):,}")
    words, heads = _learned(encoder, models, examples)
    weights = _with_rows(encoder.weights, words, np.arange(len(words)))
    encoder = replace(encoder, weights=weights)
    found = dict[System, Model]()
    for system, (directions, prior) in heads.items():
        scorer = replace(models[system].own, encoder=encoder, prior=prior)
        scorer = replace(scorer, directions=rounded(directions))
        found[system] = replace(models[system], scores=scorer)
    return found


def with_words(encoder: Encoder, written: Written, texts: Sequence[str], embed: Embed) -> Encoder:
    """Return an encoder that also knows words of names and descriptions, and of titles in use.

    Their first weights are those that the weights of known words, a linear map of what the sentence
    encoder makes of them, lead to expect. They are as rare as a word can be.
    """
    vocabulary = encoder.vocabulary
    spelt = spellings(written.all)
    in_use = Counter({word: written.titles[word] for word in written.titles & written.rows})
    words = [
        word
        for each in map(spellings, (written.names, written.descriptions, in_use))
        for word in sorted(each, key=lambda word: (-each[word].total(), word))
        if len(word) >= SHORTEST
    ]
    features = hashed_features(word_hashes(words), 0)
    unknown = ~find(vocabulary.features, features)[0]
    new = dict[int, str]()
    for feature, word in zip(features[unknown].tolist(), compress(words, unknown), strict=True):
        if len(new) < MOST_NEW:
            new.setdefault(feature, word)
    log.info("%s words become known", f"{len(new):,}")
    added = sorted(new)
    first = _expected(encoder, spelt, [new[feature] for feature in added], embed)
    encoder = _lightened(encoder, MOST - len(added), texts)
    vocabulary, weights = encoder.vocabulary, encoder.weights
    places = np.searchsorted(vocabulary.features, added)
    grown = Codebook(
        np.insert(weights.places, places, 0, axis=0),
        np.insert(weights.lengths, places, 0),
        weights.centres,
    )
    rarest = vocabulary.rarity.max()
    return Encoder(
        Vocabulary(
            np.insert(vocabulary.features, places, added),
            np.insert(vocabulary.rarity, places, rarest),
        ),
        _with_rows(grown, first, places + np.arange(len(added))),
    )


def _lightened(encoder: Encoder, most: int, texts: Sequence[str]) -> Encoder:
    """Return an encoder with at most so many features, without those that move texts least."""
    vocabulary, weights = encoder.vocabulary, encoder.weights
    squares = np.zeros(len(vocabulary.features))
    for at in range(0, len(texts), PART):
        found = vocabulary.vectors(count(texts[at : at + PART]))
        squares += np.bincount(found.columns, found.values.astype(np.float64) ** 2, len(squares))
    moves = np.sqrt(squares) * np.abs(weights.lengths.astype(np.float64))
    moves[vocabulary.features < 1 << BITS] = np.inf
    kept = np.sort(np.argsort(-moves, kind="stable")[:most])
    return Encoder(
        Vocabulary(vocabulary.features[kept], vocabulary.rarity[kept]),
        Codebook(weights.places[kept], weights.lengths[kept], weights.centres),
    )


def _expected(
    encoder: Encoder, spelt: Mapping[str, Counter[str]], new: Sequence[str], embed: Embed
) -> Floats:
    """Return the weights that known words lead to expect of new ones."""
    known, rows = encoder.vocabulary.find_words([*spelt])
    weights = encoder.weights.rows(rows[known])
    usual = {word: each.most_common(1)[0][0] for word, each in spelt.items()}
    vectors = np.asarray(embed([*compress(usual.values(), known)]), np.float64)
    mean = vectors.mean(axis=0)
    vectors -= mean
    square = vectors.T @ vectors + RIDGE * np.eye(vectors.shape[1])
    turn = np.linalg.solve(square, vectors.T @ weights)
    found: Floats = (np.asarray(embed([usual[word] for word in new])) - mean) @ turn
    return found.astype(np.float32)


def _with_rows(weights: Codebook, rows: Floats, which: Ints) -> Codebook:
    """Return a codebook with some rows replaced; the centres stay."""
    places, lengths = weights.places.copy(), weights.lengths.copy()
    places[which] = nearest_centres(unit(rows), weights.centres.astype(np.float32))
    lengths[which] = 1
    found = replace(weights, places=places, lengths=lengths)
    near = found.rows(which)
    # The length at which what is kept loses least.
    lengths[which] = (rows * near).sum(axis=1) / ((near**2).sum(axis=1) + TINY)
    return found


def _learned(
    encoder: Encoder, models: Mapping[System, Model], examples: Sequence[Example]
) -> tuple[Floats, dict[System, tuple[Floats, Floats]]]:
    """Return the weights of the words, and each system's directions and prior."""
    import torch
    from torch.nn.functional import log_softmax, nll_loss, softmax

    random = np.random.default_rng(0)
    place = {(name, code): at for name in models for at, code in enumerate(models[name].codes)}
    some = [each for each in examples if (each.system, each.code) in place]
    systems = np.array([each.system for each in some])
    labels = torch.tensor([place[each.system, each.code] for each in some])
    counts = torch.tensor([each.weight for each in some])
    rest, texts = _read(encoder, [each.text for each in some])
    first = torch.from_numpy(encoder.weights.rows(np.arange(texts.shape[1])))
    words, unit_of_words = first.clone(), float(first.std())
    rarity = torch.from_numpy(encoder.vocabulary.rarity[: len(first)].astype(np.float32))
    rates = (
        RATE_OF_WORDS
        * unit_of_words
        * torch.where(rarity == rarity.max(), TIMES_RAREST, 1.0)[:, None]
    )
    mean, square = torch.zeros_like(first), torch.zeros_like(first)
    before = {
        name: (torch.tensor(each.own.directions.rows()), torch.tensor(each.own.prior))
        for name, each in models.items()
    }
    after = {name: [each.clone().requires_grad_() for each in before[name]] for name in models}
    units = {name: float(directions.std()) for name, (directions, _) in before.items()}
    optimizer = torch.optim.Adam(
        [
            {"params": [each], "unit": of_one}
            for name, both in after.items()
            for each, of_one in zip(both, (units[name], 1.0), strict=True)
        ],
        betas=(0.9, 0.99),
    )
    steps = list[tuple[System, Ints]]()
    for name in list(models) * EPOCHS:
        order = random.permutation(np.flatnonzero(systems == name))
        parts = max(1, len(order) // BATCH)
        steps += [(name, batch) for batch in np.array_split(order, parts) if len(batch)]
    for number, at in enumerate(random.permutation(len(steps)).tolist()):
        name, batch = steps[at]
        share = max(LEAST_RATE, 1 - number / len(steps))
        found, others = texts[batch], torch.from_numpy(rest[batch])
        used, columns = np.unique(found.indices, return_inverse=True)
        which = torch.from_numpy(used.astype(np.int64))
        bags = (torch.from_numpy(columns), torch.from_numpy(found.indptr[:-1].astype(np.int64)))
        sums = partial(_sums, bags, torch.from_numpy(found.data))
        here = words[which].requires_grad_()
        (directions, prior), (old, start) = after[name], before[name]
        logs = log_softmax((others + sums(here)) @ directions.T + prior, 1)
        with torch.no_grad():
            said = softmax((others + sums(first[which])) @ old.T + start, 1)
        of_labels = nll_loss(logs, labels[batch], reduction="none")
        moved = ((directions - old) ** 2).sum() / units[name] ** 2 / len(old)
        moved_words = ((here - first[which]) ** 2).sum() / unit_of_words**2 / len(batch)
        loss = (of_labels * counts[batch]).mean() - BEFORE * (said * logs).sum(1).mean()
        optimizer.zero_grad()
        (loss + NEARNESS * moved + NEARNESS_OF_WORDS * moved_words).backward()
        for group in optimizer.param_groups:
            group["lr"] = share * RATE_OF_CODES * group["unit"]
        optimizer.step()
        # Adam again, for the words of these texts alone: others stay as they are.
        mean[which] = 0.9 * mean[which] + 0.1 * here.grad
        square[which] = 0.99 * square[which] + 0.01 * here.grad**2
        words[which] -= share * rates[which] * mean[which] / (square[which].sqrt() + 1e-9)
    return words.numpy(), {
        name: (directions.detach().numpy(), prior.detach().numpy())
        for name, (directions, prior) in after.items()
    }


def _sums(bags: tuple[Any, Any], weights: Any, rows: Any) -> Any:
    """Return the weighted sums of the rows of each text, whose places and starts are the bags."""
    from torch.nn.functional import embedding_bag

    places, starts = bags
    return embedding_bag(places, rows, starts, mode="sum", per_sample_weights=weights)


def _read(encoder: Encoder, texts: Sequence[str]) -> tuple[Floats, sparse.csr_matrix]:
    """Return texts x dimensions, what all but words make of each, and texts x words: weights."""
    features = encoder.vocabulary.features
    words = int(np.searchsorted(features, 1 << BITS))
    others = encoder.weights.rows(np.arange(words, len(features)))
    rest, found = [], []
    for at in range(0, len(texts), AT_ONCE):
        some = texts[at : at + AT_ONCE]
        weights = Examples.of(some, [""] * len(some)).vectors(encoder.vocabulary).tocsc()
        rest.append(np.asarray(weights[:, words:] @ others, np.float32))
        found.append(weights[:, :words].tocsr())
    return np.concatenate(rest), sparse.vstack(found).tocsr()
