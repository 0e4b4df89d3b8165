"""Adds texts in many languages to systems whose examples are in one or two.

CPV notices come in 24 languages, and CPV codes have titles in 23. The crosswalk says which code of
another system fits a CPV code, so these texts teach that system, too: `Streusalz` and road salt get
the same answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from pipeline.engine.model.arrays import Ints, Texts
from pipeline.engine.training.network import TrainingSet

__all__ = ["OtherLanguages", "best_counterparts", "with_other_languages"]


@dataclass(frozen=True, slots=True)
class OtherLanguages:
    """Settings for training on the texts of CPV.

    Attributes:
        title_weight: the weight of a title or phrase of a CPV code.
        title_share: the probability that an epoch samples it.
        notice_weight: the weight of a CPV notice, multiplied by its weight among those of CPV.
        notice_share: the probability that an epoch samples it.
    """

    title_weight: float = 0.2
    title_share: float = 0.2
    notice_weight: float = 0.1
    notice_share: float = 0.2

    def times(self, factor: float) -> OtherLanguages:
        """Return the same with the weights multiplied."""
        return replace(
            self,
            title_weight=self.title_weight * factor,
            notice_weight=self.notice_weight * factor,
        )


def best_counterparts(
    crosswalk: Mapping[str, Sequence[str]], cpv_codes: Texts, codes: Texts
) -> Ints:
    """Return, for each CPV code, the index among ``codes`` of the one that fits it best, or -1.

    The crosswalk has the codes of another system for each CPV code, best first.
    """
    place = {code: number for number, code in enumerate(codes.tolist())}
    fits = [crosswalk.get(code, ()) for code in cpv_codes.tolist()]
    return np.array([next((place[code] for code in some if code in place), -1) for some in fits])


def with_other_languages(
    data: TrainingSet,
    codes: Texts,
    cpv: TrainingSet,
    cpv_codes: Texts,
    phrases: int,
    crosswalk: Mapping[str, Sequence[str]],
    settings: OtherLanguages,
) -> TrainingSet:
    """Add the texts of CPV to a training set, with the best code that the crosswalk gives them.

    The last ``phrases`` rows of ``cpv`` are titles and phrases.
    """
    labels = best_counterparts(crosswalk, cpv_codes, codes)[cpv.labels]
    rows = np.flatnonzero(labels >= 0)
    is_title = rows >= len(labels) - phrases
    weights = np.where(is_title, settings.title_weight, settings.notice_weight * cpv.weights[rows])
    shares = np.where(is_title, settings.title_share, settings.notice_share)
    return replace(
        data,
        vectors=sparse.vstack([data.vectors, cpv.vectors[rows]]).tocsr(),
        labels=np.concatenate([data.labels, labels[rows]]),
        weights=np.concatenate([data.weights, weights.astype(np.float32)]),
        shares=np.concatenate([data.shares, shares]),
        partial=np.concatenate([data.partial, np.zeros(len(rows), np.bool_)]),
    )
