"""Adds texts in other languages to systems whose examples are in one language.

CPV codes have titles in 23 languages. A preliminary network of another system classifies the
English title of each CPV code. Where it is confident, its answer becomes the label of all titles
and phrases of that CPV code. So `Streusalz` and road salt get the same answer.

Labelling notices with that CPV code in the same way does not help: parallel titles got the same
answer no more often, and fewer held-out texts had their UNSPSC code ranked first (.374, down from
.378).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from pipeline.engine.model.arrays import Floats, Ints
from pipeline.engine.model.products import softmax
from pipeline.engine.training.network import Head, Network, TrainingSet

__all__ = ["OtherLanguages", "with_other_languages"]


@dataclass(frozen=True, slots=True)
class OtherLanguages:
    """Settings for training on texts in other languages.

    Attributes:
        sure: the minimum probability of a title's top code for it to be used as a label.
        weight: the weight of such a text, multiplied by that probability.
        share: the probability that an epoch samples it.
    """

    sure: float = 0.5
    weight: float = 0.1
    share: float = 0.1


def with_other_languages(
    data: TrainingSet,
    first: Network,
    head: Head,
    many: TrainingSet,
    phrases: Ints,
    titles: int,
    settings: OtherLanguages,
) -> TrainingSet:
    """Add another system's phrases to a training set where their label is confident.

    Args:
        data: the training set of the system that gains languages.
        first: a network that was trained on it.
        head: that system's part of the network.
        many: the training set of the system with phrases in many languages.
        phrases: the rows of ``many`` that are phrases.
        titles: how many phrases, at the start, are titles in the language of ``data``, one per
            code.
        settings: the confidence threshold, weight and sampling rate of the added texts.
    """
    asked = phrases[:titles]
    best, sure = _answers(first, head, many.vectors[asked])
    labels = np.full(many.tree.shape[0], -1)
    labels[many.labels[asked]] = np.where(sure >= settings.sure, best, -1)
    sureness = np.zeros(many.tree.shape[0], np.float32)
    sureness[many.labels[asked]] = sure
    rows = phrases[labels[many.labels[phrases]] >= 0]
    added = labels[many.labels[rows]]
    return replace(
        data,
        vectors=sparse.vstack([data.vectors, many.vectors[rows]]).tocsr(),
        labels=np.concatenate([data.labels, added]),
        weights=np.append(data.weights, settings.weight * sureness[many.labels[rows]]),
        shares=np.append(data.shares, np.full(len(rows), settings.share)),
        partial=np.append(data.partial, np.zeros(len(rows), np.bool_)),
    )


def _answers(network: Network, head: Head, vectors: sparse.csr_matrix) -> tuple[Ints, Floats]:
    """Return (the top code of each text; its probability)."""
    shares = softmax(vectors @ network.features @ head.directions.T + head.prior)
    return shares.argmax(axis=1), shares.max(axis=1)
