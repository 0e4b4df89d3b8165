"""What the package's model learns from after its networks: labels, titles, texts written for it."""

from __future__ import annotations

import csv
import gzip
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pipeline.answers import SYSTEMS, Matched, System
from pipeline.codes import find_code, shipped, titles_by_language
from pipeline.engine import Engine
from pipeline.engine.text.cleaning import WordPattern
from workshop.acceptance import Judgement, Verdict
from workshop.recipe import TEXTS, batches, phrases, read_settings

MOST: Mapping[System, int] = {"cpv": 45_000, "psc": 25_000, "unspsc": 22_000, "naics": 22_000}
MOST_OF_A_SOURCE, MOST_OF_A_CODE = 6_000, 400
"""Labelled rows to learn from: those of a few sources and codes would drown the others."""

TITLE_WEIGHT = TITLE_SHARE = 0.3
"""The weight of a CPV title, and how many of them are used: they come in 24 languages."""

WRITTEN_WEIGHT = 4.0
"""What a description that was written for a code counts: its code is right."""

SYSTEMS_OF_NAME, DRAWN_FROM = 3, 3
"""For how many systems a name in another language is an example, and how many codes of the English
name the one that it teaches is drawn from."""

START_OF_TEXT, TITLE_TIMES = 2_000, 5
"""Characters of a text whose words are counted, as the rest is mostly terms and addresses; and how
often a word of a title counts."""

RECIPE = Path(__file__).parents[1] / "pipeline" / "engine" / "shipped" / "recipe.toml"
NEW_TITLES = "codes/more/cpv_titles_uk_ru_ka.csv.gz"
"""In the folder of the data: CPV titles in Ukrainian, Russian and Georgian."""


class Example(NamedTuple):
    """A labelled text, and how much it counts."""

    text: str
    system: System
    code: str
    weight: float


@dataclass(frozen=True, slots=True)
class Written:
    """How often words are written, in lower case and with their accents.

    Attributes:
        rows: in labelled rows.
        titles: in titles, where a word counts `TITLE_TIMES`, and in phrases.
        descriptions: in descriptions.
        names: in names of things in other languages than English.
    """

    rows: Counter[str] = field(default_factory=Counter)
    titles: Counter[str] = field(default_factory=Counter)
    descriptions: Counter[str] = field(default_factory=Counter)
    names: Counter[str] = field(default_factory=Counter)

    @property
    def all(self) -> Counter[str]:
        """How often they are written in all of these."""
        return self.rows + self.titles + self.descriptions + self.names


class Description(NamedTuple):
    """A purchase in the words of a buyer, the code that it was written for, and who wrote it."""

    system: System
    code: str
    language: str
    writer: str
    text: str


def descriptions() -> list[Description]:
    """Return the descriptions that were written for training, of several writers."""
    return [Description(**row) for row in _rows(TEXTS / "descriptions.csv")]


def judged_descriptions() -> list[Judgement]:
    """Return some descriptions with what an expert says of codes of other systems.

    A row has the codes of a system, divided by spaces: those that the expert accepts, a bar, and
    those that it refuses. A system without any is the one that the description was written for.
    """
    found = list[Judgement]()
    for row in _rows(TEXTS / "verdicts.csv"):
        verdicts = dict[System, Verdict]()
        for system in SYSTEMS:
            accepted, bar, refused = (
                frozenset(part.split()) for part in row[system].partition("|")
            )
            if bar:
                verdicts[system] = Verdict(accepted, refused, unknowable=False)
        found.append(Judgement(row["text"], f"writer {row['writer']}", verdicts, is_notice=False))
    return found


def sentences() -> list[tuple[str, bool]]:
    """Return sentences of notices in many languages, each with whether it says how to bid."""
    return [
        (row["sentence"], row["says"] == "how to bid") for row in _rows(TEXTS / "sentences.csv")
    ]


class Translated(NamedTuple):
    """The English name of what is bought, its CPV code if it is a title, and its other names."""

    english: str
    cpv: str
    names: Sequence[str]


def glossary() -> list[Translated]:
    """Return things with their names, which were written for training.

    A language may have several names of a thing, and several forms of one.
    """
    found = list[Translated]()
    for row in _rows(TEXTS / "glossary.csv"):
        english = row.pop("en")
        names = "/".join(row.values()).split("/")
        found.append(Translated(english, "", [*dict.fromkeys(filter(None, names))]))
    return found


def new_titles(data: Path) -> list[Translated]:
    """Return the CPV titles in languages that the networks did not learn."""
    names = defaultdict[str, list[str]](list)
    for row in _rows(data / NEW_TITLES):
        names[row["code"]].append(row["title"])
    titles = shipped("cpv").titles
    return [Translated(titles[code], code, each) for code, each in names.items()]


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def count_words(texts: Iterable[str], times: int = 1) -> Counter[str]:
    """Return how often words are written in texts, in lower case and with their accents."""
    pattern, found = WordPattern(r"[^\W\d_]{2,40}"), Counter[str]()
    for text in texts:
        for word in pattern.findall(text[:START_OF_TEXT].lower()):
            found[word] += times
    return found


def labelled_rows(
    data: Path, system: System, files: Iterable[str]
) -> Iterator[tuple[str, str | None, str]]:
    """Yield (text, code or None for one that does not exist, source) of each row with a text."""
    for name in files:
        for texts, batch in batches(data / name, ["text"], ["code", "source"]):
            for text, row in zip(texts, batch.to_pylist(), strict=True):
                if text:
                    yield text, find_code(shipped(system), row["code"] or ""), row["source"]


def labelled(data: Path) -> tuple[list[Example], Written]:
    """Return what networks and vectors learn from, and how often its words are written.

    These are labelled rows, whose files are in the folder, titles, phrases, descriptions and names.
    """
    random, found, written = np.random.default_rng(0), list[Example](), Written()
    for system, settings in read_settings(RECIPE).systems.items():
        table, read = shipped(system), [*labelled_rows(data, system, settings.taught)]
        written.rows.update(count_words(text for text, _, _ in read))
        rows = [(text, code, source) for text, code, source in read if code is not None]
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
            written.titles.update(count_words(language, TITLE_TIMES))
            kept = random.random(len(language)) < share
            pairs = compress(zip(table.titles, language, strict=True), kept)
            found += [Example(title, system, code, weight) for code, title in pairs if title]
        found += [Example(text, system, code, 1.0) for code, text in phrases(system)]
        written.titles.update(count_words(text for _, text in phrases(system)))
    for each in descriptions():
        found.append(Example(each.text, each.system, each.code, WRITTEN_WEIGHT))
        written.descriptions.update(count_words([each.text]))
    entries = [*glossary(), *new_titles(data)]
    found += examples_of_names(entries, random)
    written.names.update(count_words(name for each in entries for name in each.names))
    return found, written


def examples_of_names(
    entries: Sequence[Translated], random: np.random.Generator
) -> Iterator[Example]:
    """Yield names in other languages with what the package's engine says of the English ones.

    The code is drawn from the best, by their confidence, which is also the weight of the example. A
    title has its own code in CPV.
    """
    (answers,) = Engine(SYSTEMS, DRAWN_FROM).answers([[each.english for each in entries]])
    for at, (_, cpv, names) in enumerate(entries):
        for name in names:
            for number in random.permutation(len(SYSTEMS))[:SYSTEMS_OF_NAME].tolist():
                system = SYSTEMS[number]
                answer = answers[system][at]
                if system == "cpv" and cpv:
                    yield Example(name, "cpv", cpv, 1.0)
                elif isinstance(answer, Matched) and answer.matches:
                    chances = np.array([match.confidence for match in answer.matches])
                    drawn = random.choice(len(chances), p=chances / chances.sum())
                    weight = min(1.0, float(chances.sum()))
                    yield Example(name, system, answer.matches[drawn].code, weight)
