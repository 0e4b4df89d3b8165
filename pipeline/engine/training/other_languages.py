"""Teaches systems whose examples are in one language the words of other languages.

CPV codes have titles in 23 languages. The code that a first network of another system gives to the
English title of a CPV code, where it is sure, is taught as the code of that code's other titles and
phrases. So `Streusalz` and road salt get one answer.

Notices with that CPV code teach nothing more: with them, parallel titles got one answer no more
often, and of the texts held back fewer had their UNSPSC code first (.374 and not .378).
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
    """How much other languages are taught.

    Attributes:
        sure: share of a title's first code from which it is taught.
        weight: how much such a text counts, times that share.
        share: how likely it takes part in an epoch.
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
    """Add the phrases of another system to a training set, where their code is sure.

    Args:
        data: the training set of the system that learns more languages.
        first: a network that was trained on it.
        head: that system's part of the network.
        many: the training set of the system with phrases in many languages.
        phrases: the rows of ``many`` that are phrases.
        titles: how many of them, the first ones, are titles in the set's language, one a code.
        settings: how much they are taught.
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
    """Return (the first code of each text; its share)."""
    shares = softmax(vectors @ network.features @ head.directions.T + head.prior)
    return shares.argmax(axis=1), shares.max(axis=1)
