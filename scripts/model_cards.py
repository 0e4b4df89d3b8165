"""Writes a card beside the shipped models for each system: data, terms, figures, limits.

    python -m scripts.model_cards

The figures are those that the models say of themselves (``about`` in ``model.json``), the sizes
those of ``recipe.toml``.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from pipeline.answers import SYSTEMS, System
from pipeline.engine.model import shipped_model
from workshop.examples import descriptions, glossary

__all__: list[str] = []

NAMES = {
    "cpv": "CPV 2008",
    "psc": "PSC, April 2025",
    "naics": "NAICS 2022",
    "unspsc": "UNSPSC",
}

DATA = {
    "cpv": """Notices of Tenders Electronic Daily (reuse allowed, source: © European Union,
TED), of national portals of the European Union, of Public Contracts Scotland and Find a Tender
(Open Government Licence v3.0), of the Portuguese BASE portal, of Spain's PLACSP and the Basque
country's open data, and of the Czech NEN and ISVZ, 2014 to 2026, in 24 languages, most of them
Spanish, German, Portuguese, French, Polish and English.""",
    "psc": """Notices and awards of the United States: SAM.gov 2014 to 2026, FPDS 2019 to 2025,
USAspending, and item names of the Defense Logistics Agency with their supply class. They are works
of the federal government and in the public domain.""",
    "naics": """Notices and awards of the United States: SAM.gov 2014 to 2026, FPDS and USAspending
2019 to 2026, a forecast of the Department of State. They are works of the federal government and in
the public domain, as are the Census Bureau's descriptions of industries and its index (2022), which
were taught along, and its relation of products to industries.""",
    "unspsc": """Contracts of AusTender 2023 and 2024 (Commonwealth of Australia, CC BY 3.0 AU),
the catalogue of Paraguay's DNCP, framework agreements of ChileCompra, and a few contracts of
Colombia's SECOP and of New South Wales and Paraguay as Open Contracting data. The commodities that
they use have titles in this package.""",
}

LANGUAGES = """;
- the notices, titles and phrases of CPV in 24 languages, with the code that the crosswalk of this
  package (pipeline/codes/data/crosswalk.tsv) gives to their CPV code"""

LIMITS = {
    "cpv": """- Buyers do not agree: of the labelled texts many state a division or group only,
  and two buyers often give two codes to the same thing. A code by the model is a suggestion.
- Notices of years and publishers that the model has not seen are harder: compare the sources.
- Codes that no labelled text names are known by their titles and our phrases alone, and are seldom
  found first. Bulgarian, Greek, Maltese, Irish and Baltic texts with labels were few.""",
    "psc": """- Examples are in English; the texts of CPV and the crosswalk teach other languages.
- Terse titles of awards ("IGF::OT::IGF ...") often name no object.
- Services that differ in who does them (R408, R425, R499, ...) are confused most.
- Codes that no labelled text names are known by their titles and our phrases alone.""",
    "naics": """- Examples are in English; the texts of CPV and the crosswalk teach other languages.
- Buyers choose the industry that fits the set-aside and size standard
  as often as the one that makes the thing, so manufacturers and wholesalers are confused.
- Forecasts of the Department of State, which name projects rather than objects, do badly.""",
    "unspsc": """- English of Australian agencies and Spanish of Latin American catalogues; others
  will find it weaker. Agencies mostly state classes, catalogues commodities.
- Only segments, families, and the classes and commodities that these buyers use have titles in this
  package. For others, add the official table (`tender-pipeline codes add unspsc FILE`).""",
}

JUDGED = """Small trees put the best 15 codes in the order of the chance that an expert accepts
them, which is the confidence. They learned it from notices and descriptions that a language
model judged, instructed as an expert (two such experts agree in 93 of 100 verdicts). With each
source judged by trees that learned only from the others, the first code is accepted for
{accepted} of {texts:,} texts, and the calibration error is {error}. As hashes, the words of each
code's texts, titles and phrases are kept.
"""

NEAR = """They also weigh how near the titles are to the text in meaning, by vectors of words that
began as those of multilingual-e5-small (see NOTICE).
"""

CARD = """# The model for {name}

<!-- Written by scripts/model_cards.py from what the model says of itself. -->

Answers `tender-pipeline run` for {name} where no service and no other model is given.

A low-rank softmax on hashed words, pairs of words and parts of words ({dimensions} dimensions,
shared by the four systems), with weights in {bits} bits each.
{judged}Nothing else is kept of the texts.

## What it learned

- {learned:,} labelled texts with {codes_from_examples:,} codes;
- {phrases:,} titles, descriptions and phrases, which word the codes as a buyer would; the phrases
  were written for this project{languages};
- {described:,} descriptions of purchases, which were written for this project and taught
  words and the directions of codes last;
- beside them, {named:,} things with their names in 24 languages, which were written for this
  project, and the CPV titles in Ukrainian, Russian and Georgian: a name has the codes that the
  engine, as it was before, gave the English one.

It can answer with {codes:,} codes.

{data}

| source | texts |
|---|---|
{sources}

Repeat it with such data: `python -m workshop recipe.toml --data FOLDER --output MODELS --jobs 2`
in a clone (the recipe stands beside this card).
A source with many texts weighs no more than the recipe says.

## How far it agrees with buyers

On {rows:,} labelled texts of the "held back" files, which the networks have not learned.
They are agreement with what buyers wrote, by the networks alone, before the descriptions were
learned and the codes are judged.

| | first code right | among 5 | among 10 |
|---|---|---|---|
| the buyer's code is specific: no {field} | {specific_first} | {specific_five} | {specific_ten} |
| all | {first} | {five} | {ten} |

- {stated} of the first codes are right as far as the buyer states a code: any code of division 45
  is right for 45000000.
- {general} of the first codes are a bare {field}.
- The calibration error is {error} (exact codes, all rows).
- {ok}

| source held back | texts | first | among 5 | among 10 | it says | calibration error |
|---|---|---|---|---|---|---|
{by_source}

First code right down to a level, of the texts whose own code goes that deep:

| level | texts | first |
|---|---|---|
{by_level}

The settings were chosen on these rows, so texts of other publishers and years will do worse.
`tender-pipeline evaluate` tells on yours.

## Limits

{limits}
"""


def main() -> None:
    """Write the cards."""
    folder = shipped_model().path
    about = json.loads((folder / "model.json").read_text("utf-8"))["about"]
    recipe = tomllib.loads((folder / "recipe.toml").read_text("utf-8"))
    for system in SYSTEMS:
        (folder / f"{system}.md").write_text(_card(system, about[system], recipe), "utf-8")


def _card(system: System, about: Mapping[str, Any], recipe: Mapping[str, Any]) -> str:
    """Return the card of a system from what the model says of itself and from its recipe."""
    held = about["held_back"]
    return CARD.format(
        name=NAMES[system],
        dimensions=recipe["model"]["width"],
        bits=8 // recipe["model"]["columns"],
        judged=JUDGED.format(
            accepted=_share(about["judged"]["accepted"]),
            texts=about["judged"]["texts"],
            error=_share(about["judged"]["calibration_error"]),
        )
        + (NEAR if (shipped_model().path / f"{system}.title_vectors.npy").exists() else ""),
        learned=about["learned_rows"],
        codes_from_examples=about["codes_from_examples"],
        phrases=about["phrases"],
        described=sum(each.system == system for each in descriptions()),
        named=len(glossary()),
        codes=about["codes"],
        languages=LANGUAGES if recipe["systems"][system].get("learns_from_cpv") else "",
        data=DATA[system],
        sources="\n".join(
            f"| {name} | {rows:,} |" for name, rows in about["learned_by_source"].items()
        ),
        rows=held["rows"],
        first=_share(held["right"]["1"]),
        five=_share(held["right"]["5"]),
        ten=_share(held["right"]["10"]),
        field="segment" if system == "unspsc" else "division",
        specific_first=_share(held["specific_1"]),
        specific_five=_share(held["specific_5"]),
        specific_ten=_share(held["specific_10"]),
        stated=_share(held["stated"]),
        general=_share(held["general"]),
        ok=_ok(held["ok"]),
        error=_share(held["calibration_error"]),
        by_source="\n".join(_sources(about["by_source"])),
        by_level="\n".join(
            f"| {name} | {each['rows']:,} | {_share(each['right_1'])} |"
            for name, each in about["by_level"].items()
        ),
        limits=LIMITS[system],
    )


def _ok(ok: Mapping[str, Any]) -> str:
    if ok["confidence"] is None:
        return "These texts do not show from which confidence two in three first codes are right."
    return (
        f"From a confidence of {_share(ok['confidence'])} on, two in three of the first codes are "
        f"right as far as stated:\n  {_share(ok['rows'])} of the texts reach it."
    )


def _sources(by_source: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    columns = ("right_1", "right_5", "right_10", "says", "calibration_error")
    for name, each in by_source.items():
        shares = " | ".join(_share(each[column]) for column in columns)
        yield f"| {name} | {each['rows']:,} | {shares} |"


def _share(value: float) -> str:
    return f"{value:.3f}".removeprefix("0") if value < 1 else "1.000"


if __name__ == "__main__":
    main()
