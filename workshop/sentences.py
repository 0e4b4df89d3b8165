"""Learns which words of a sentence show that it says how to bid, not what is bought.

    python -m workshop.sentences --data FOLDER

A sentence of a long labelled text says what is bought if the package's model finds the code of the
text from this sentence alone, and how to bid if it does not come near. Titles, and sentences that
were written for this, are further examples. The weights of a logistic regression replace those in
``pipeline/engine/text/bidding.toml``.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from textwrap import fill
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import minimize

from pipeline.answers import System
from pipeline.cli.output.console import log_to_stderr
from pipeline.engine.model import load_model, shipped_model
from pipeline.engine.model.acceptance import probability
from pipeline.engine.model.encoder import encode_batch, portions
from pipeline.engine.model.matrices import Bools, Floats
from pipeline.engine.text.cleaning import TITLE, WORD, beginnings, readable, sentences
from workshop.examples import RECIPE, descriptions, labelled_rows
from workshop.examples import sentences as written
from workshop.recipe import read_settings

LEARNED = Path(__file__).parents[1] / "pipeline" / "engine" / "text" / "bidding.toml"

MOST_OF_A_SOURCE, MOST_TITLES, MOST_SENTENCES = 1_500, 15_000, 40
"""Long texts of a source, titles of a system, and sentences of a text to learn from."""

SUBJECT_RANK, SUBJECT_SHARE = 3, 0.25
"""A sentence says what is bought if the model ranks the code under this, with more than this."""

OTHER_RANK, OTHER_SHARE = 30, 0.003
"""A sentence says how to bid if the model ranks the code from this on, with less than this."""

HOW_WEIGHT, WHAT_WEIGHT, TITLE_WEIGHT = 5.0, 10.0, 0.5
"""What sentences written for this count, that say how to bid and what is bought, and a title."""

FEWEST = 5
"""Sentences that a word is in at least, to get a weight."""

PENALTY = 2.0
"""What the size of each weight costs, so that most are zero."""

STEPS = 4
"""Weights are stored in such parts of one."""

DOUBT = 0.5
"""How far above even the log odds must be: what is bought is worth more than a formula costs."""

log = logging.getLogger("pipeline")


class Sentence(NamedTuple):
    """A sentence as `readable` returns it, whether it says how to bid, and how much it counts."""

    text: str
    is_bidding: bool
    weight: float = 1.0


def examples(data: Path) -> list[Sentence]:
    """Return the sentences to learn from.

    Args:
        data: the folder of the files that the package's recipe names.
    """
    found = [Sentence(readable(each.text), False, TITLE_WEIGHT) for each in descriptions()]
    found += [
        Sentence(readable(text), is_bidding, HOW_WEIGHT if is_bidding else WHAT_WEIGHT)
        for text, is_bidding in written()
    ]
    for system, settings in read_settings(RECIPE).systems.items():
        by_text = dict[str, tuple[str, str, str]]()
        for text, code, source in labelled_rows(data, system, settings.taught):
            if code is not None:
                by_text.setdefault(text, (text, code, source))
        texts = [*by_text.values()]
        titles = [text for text, _, _ in texts if 20 < len(text) <= TITLE]  # shorter ones say less
        random = np.random.default_rng(0)
        some = random.permutation(len(titles))[:MOST_TITLES].tolist()
        found += [Sentence(readable(titles[at]), False, TITLE_WEIGHT) for at in some]
        found += _told_by_model(system, texts, random)
        log.info("%s sentences with those of %s", f"{len(found):,}", system)
    return found


def _told_by_model(
    system: System, texts: Sequence[tuple[str, str, str]], random: np.random.Generator
) -> Iterator[Sentence]:
    """Yield the sentences of long texts of which the model tells what they say."""
    scorer = load_model(shipped_model(), system).own
    place = {code: at for at, code in enumerate(scorer.codes.tolist())}
    label, of_source = dict[str, int](), dict[str, int]()
    for at in random.permutation(len(texts)).tolist():
        text, code, source = texts[at]
        number = of_source[source] = of_source.get(source, 0) + (len(text) > TITLE)
        if len(text) <= TITLE or number > MOST_OF_A_SOURCE or code not in place:
            continue
        some = [*sentences(readable(text))][:MOST_SENTENCES]
        # A sentence of texts with several codes is judged by one of them.
        label |= {each.strip(): place[code] for each in some if len(WORD.findall(each)) > 1}
    for portion in portions([*label]):
        shares, _ = scorer.shares(encode_batch(portion))
        codes = np.array([label[sentence] for sentence in portion])
        share = shares[np.arange(len(codes)), codes]
        rank = (shares > share[:, None]).sum(axis=1)
        subject = (rank < SUBJECT_RANK) & (share > SUBJECT_SHARE)
        other = (rank >= OTHER_RANK) & (share < OTHER_SHARE)
        for at in np.flatnonzero(subject | other).tolist():
            yield Sentence(portion[at], bool(other[at]))


def learn(some: Sequence[Sentence]) -> tuple[float, Mapping[str, float]]:
    """Return the log odds of a sentence without known words, and what each beginning adds."""
    words = [sorted(beginnings(WORD.findall(each.text))) for each in some]
    names, number = np.unique([*chain.from_iterable(words)], return_inverse=True)
    starts = np.cumsum([0, *map(len, words)])
    shape = (len(some), len(names))
    has = sparse.csr_matrix((np.ones(len(number)), number, starts), shape)
    usual = np.flatnonzero(np.bincount(number) >= FEWEST)
    has = has[:, usual]
    bidding = np.array([each.is_bidding for each in some])
    start, weights = _logistic(has, bidding, np.array([each.weight for each in some]))
    return start, dict(zip(names[usual].tolist(), weights.tolist(), strict=True))


def _logistic(has: sparse.csr_matrix, outcome: Bools, counts: Floats) -> tuple[float, Floats]:
    """Return the intercept and the coefficients of a logistic regression, most of them zero."""
    columns = has.shape[1]

    def loss(parts: Floats) -> tuple[float, Floats]:
        odds = has @ (parts[1 : columns + 1] - parts[columns + 1 :]) + parts[0]
        off = counts * (probability(odds) - outcome)
        value = counts @ (np.logaddexp(0, odds) - outcome * odds) + PENALTY * parts[1:].sum()
        slope = has.T @ off
        return value, np.concatenate([[off.sum()], PENALTY + slope, PENALTY - slope])

    # Each coefficient is the difference of two parts, neither of which is negative.
    limits = [(None, None), *[(0, None)] * (2 * columns)]
    start = np.zeros(2 * columns + 1)
    found = minimize(loss, start, method="L-BFGS-B", jac=True, bounds=limits).x
    return float(found[0]), found[1 : columns + 1] - found[columns + 1 :]


def as_toml(start: float, weights: Mapping[str, float]) -> str:
    """Return the content of ``bidding.toml``."""
    levels = dict[int, list[str]]()
    for word, weight in sorted(weights.items()):
        levels.setdefault(round(weight * STEPS), []).append(word)
    levels.pop(0, None)
    lines = [
        "# What the beginning of each word of a sentence adds to the log odds, in quarters, that",
        "# it says how to bid, not what is bought. Made by workshop/sentences.py.",
        f"start = {round((start - DOUBT) * STEPS)}",
        "",
        "[weights]",
    ]
    for level, words in sorted(levels.items(), reverse=True):
        lines += [f"{level} = '''", f"{fill(' '.join(words), 100, break_on_hyphens=False)}'''"]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Learn the weights and replace those of the package."""
    parser = argparse.ArgumentParser(prog="workshop.sentences", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--data", type=Path, required=True)
    options = parser.parse_args(arguments)
    log_to_stderr()
    start, weights = learn(examples(options.data))
    LEARNED.write_text(as_toml(start, weights), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
