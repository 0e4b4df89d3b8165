"""Teaches the heads of the package's networks again, with descriptions written for every code.

Notices name the usual purchases again and again, and most codes hardly ever. The descriptions have
several texts for nearly every code. Learned with labels and titles, they find codes of other
writers' descriptions; what the heads said of a text before is learned as well, so that they say of
notices what they said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pipeline.engine.model.encoder import portions, reading
from pipeline.engine.model.matrices import Floats, Ints, rounded
from pipeline.engine.model.scorer import Scorer
from workshop.examples import Example

EPOCHS, BATCH, RATE, LEAST_RATE = 2, 512, 0.02, 0.05
"""Times that each text is read, texts a step, and the rate: at first, in standard deviations of the
directions, and the share of it that is left at the end."""

BEFORE = 1.0
"""What the shares that the heads gave before count, against one for the labels."""

NEARNESS = 1e-3
"""How strongly a direction is kept near where it was: the cost of one standard deviation."""


def taught_again(scorer: Scorer, examples: Sequence[Example]) -> Scorer:
    """Return a scorer whose directions and prior also learned from some texts.

    Args:
        scorer: what the networks' training made.
        examples: texts of its system; those with another code are left out.
    """
    place = {code: at for at, code in enumerate(scorer.codes.tolist())}
    some = [each for each in examples if each.code in place]
    labels = np.array([place[each.code] for each in some])
    weights = np.array([each.weight for each in some], np.float32)
    hidden = np.concatenate(
        [reading(texts)(scorer.encoder).hidden for texts in portions([each.text for each in some])]
    )
    directions, prior = _learned(scorer, hidden, labels, weights)
    return replace(scorer, directions=rounded(directions), prior=prior)


def _learned(
    scorer: Scorer, hidden: Floats, labels: Ints, weights: Floats
) -> tuple[Floats, Floats]:
    """Return the directions and the prior after some epochs."""
    import torch
    from torch.nn import functional

    random = np.random.default_rng(0)
    first, start = torch.tensor(scorer.directions.rows()), torch.tensor(scorer.prior)
    unit = float(first.std())
    directions, prior = (each.clone().requires_grad_() for each in (first, start))
    optimizer = torch.optim.Adam(
        [{"params": [directions], "unit": unit}, {"params": [prior], "unit": 1.0}],
        betas=(0.9, 0.99),
    )
    batches = [
        batch
        for _ in range(EPOCHS)
        for batch in np.array_split(random.permutation(len(hidden)), max(1, len(hidden) // BATCH))
    ]
    for number, batch in enumerate(batches):
        for group in optimizer.param_groups:
            group["lr"] = RATE * group["unit"] * max(LEAST_RATE, 1 - number / len(batches))
        texts, count = torch.from_numpy(hidden[batch]), torch.from_numpy(weights[batch])
        logs = functional.log_softmax(texts @ directions.T + prior, 1)
        before = functional.softmax(texts @ first.T + start, 1)
        of_labels = functional.nll_loss(logs, torch.from_numpy(labels[batch]), reduction="none")
        moved = ((directions - first) ** 2).sum() / unit**2 / len(first)
        loss = (of_labels * count).mean() - BEFORE * (before * logs).sum(1).mean()
        optimizer.zero_grad()
        (loss + NEARNESS * moved).backward()
        optimizer.step()
    return directions.detach().numpy(), prior.detach().numpy()
