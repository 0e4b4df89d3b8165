"""What the file of a recipe says: the settings of the networks, and the files of each system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from pipeline.answers import SYSTEMS, System
from pipeline.engine.training import NetworkSettings, OtherLanguages, Recipe
from pipeline.errors import SettingsError
from pipeline.files.regular import read_toml

__all__ = ["Blended", "RecipeFile", "Rows", "SystemSettings", "read_settings"]

TABLES = {"networks", "model", "systems", "other_languages", "blended_with_general"}
"""The tables that a recipe may have."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a file.

    Attributes:
        file: its path, relative to the recipe's folder.
        text: the columns that are joined into one text.
        code: the column of the code.
        split: the separator of several phrases in one text.
        where: the values that columns must have for a row to be used.
    """

    file: str
    text: Sequence[str] = ("text",)
    code: str = "code"
    split: str = ""
    where: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SystemSettings:
    """The settings of one system in a recipe.

    Attributes:
        taught: files of labelled texts, with the columns ``text``, ``code`` and ``source``.
        held_back: files of held-out rows that validate a first model.
        phrases: files of alternative wordings of codes.
        most_of_a_source: the maximum total weight of a source.
        title_weight, title_share: a title's weight; its probability of being used in an epoch.
        phrase_weight: the weight of a phrase, whether from a file or shipped.
        learns_from_cpv: how much the texts of CPV count in this system; 0 for not at all. See
            `pipeline.engine.training.other_languages`.
        asks_cpv: in a model that is blended with the general one, the weight of what CPV says about
            texts unlike the labelled ones; 0 for not at all. See `pipeline.engine.model.crosswalk`.
        remembers: whether typical texts of each code are kept.
        learns_held_back: whether the final model also trains on the held-out files.
        judged: a file of texts whose codes an expert judged, if the model learns from them how
            likely its codes are accepted.
    """

    taught: Sequence[str]
    held_back: Sequence[str]
    phrases: Sequence[Rows] = ()
    most_of_a_source: int = 10_000
    title_weight: float = 0.3
    title_share: float = 1.0
    phrase_weight: float = 0.3
    learns_from_cpv: float = 0.0
    asks_cpv: float = 0.0
    remembers: bool = True
    learns_held_back: bool = True
    judged: str = ""


@dataclass(frozen=True, slots=True)
class Blended:
    """How the models of a recipe are blended with the general model of the package.

    Attributes:
        others: files of texts that are not worded like the labelled ones, with the column ``text``.
    """

    others: Sequence[str]


@dataclass(frozen=True, slots=True)
class RecipeFile:
    """What a recipe says."""

    recipe: Recipe
    systems: Mapping[System, SystemSettings]
    blended: Blended | None


def read_settings(path: Path) -> RecipeFile:
    """Read the file of a recipe, and none of the files that it names.

    Raises:
        SettingsError: the file is not a valid recipe.
    """
    try:
        text = read_toml(path)
        systems = {name: _system_settings(values) for name, values in text["systems"].items()}
        networks = [each for group in text["networks"] for each in _alike(group)]
        seeded = tuple(replace(each, seed=seed) for seed, each in enumerate(networks))
        languages = OtherLanguages(**text.get("other_languages", {}))
        recipe = Recipe(seeded, **text["model"], other_languages=languages)
        blended = _blended(text)
        _check(systems, recipe, blended)
        if unknown_tables := text.keys() - TABLES:
            raise ValueError(f"it has an unknown table, {min(unknown_tables)}")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SettingsError(
            f"{path} is not a valid recipe: {error}.",
            "See pipeline/engine/shipped/recipe.toml in the source for an example.",
        ) from error
    unknown = set(systems) - set(SYSTEMS)
    if unknown:
        raise SettingsError(
            f"{path} names an unknown system, {min(unknown)}.",
            f"Choose from {', '.join(SYSTEMS)}.",
        )
    return RecipeFile(recipe, systems, blended)


def _alike(values: Mapping[str, Any]) -> list[NetworkSettings]:
    """Return the settings of a group of networks, which differ only in their seeds."""
    shared = {**values}
    count = shared.pop("count")
    return [NetworkSettings(**shared)] * count


def _system_settings(values: Mapping[str, Any]) -> SystemSettings:
    return SystemSettings(
        **{**values, "phrases": [Rows(**rows) for rows in values.get("phrases", ())]}
    )


def _check(systems: Mapping[str, SystemSettings], recipe: Recipe, blended: Blended | None) -> None:
    """Check early what would otherwise fail in the middle of training.

    Raises:
        ValueError: something is missing, not a number or not a list.
    """
    if not systems:
        raise ValueError("it names no system")
    if not recipe.networks:
        raise ValueError("the count of networks is zero")
    for name, settings in systems.items():
        for names in (settings.taught, settings.held_back):
            if not (isinstance(names, list) and names):
                raise ValueError(f"{name} needs files in the lists taught and held_back")
        if settings.learns_from_cpv and (name == "cpv" or "cpv" not in systems):
            raise ValueError(f"{name} learns from CPV, which it does not name")
        _check_asking(name, settings, blended)
    _check_numbers(recipe)
    _check_numbers(recipe.other_languages)
    for network in recipe.networks:
        _check_numbers(network)


def _check_asking(name: str, settings: SystemSettings, blended: Blended | None) -> None:
    """Check whether a model may ask CPV, and how much that counts."""
    weight = settings.asks_cpv
    if not isinstance(weight, int | float) or not 0 <= weight <= 1:
        raise ValueError(f"asks_cpv of {name} is not a number from 0 to 1")
    if weight and blended is None:
        raise ValueError(f"{name} asks CPV, but is not blended with the general model")
    if weight and settings.learns_from_cpv:
        raise ValueError(f"{name} both asks CPV and learns from it")


def _check_numbers(part: Recipe | OtherLanguages | NetworkSettings) -> None:
    """Check the types of the numbers in a part of a recipe; its own parts are checked apart."""
    for each in fields(part):
        value = getattr(part, each.name)
        if isinstance(value, tuple | OtherLanguages):
            continue
        if each.type == "int" and not isinstance(value, int):
            raise ValueError(f"{each.name} is not a whole number")
        if not isinstance(value, int | float):
            raise ValueError(f"{each.name} is not a number")


def _blended(recipe: Mapping[str, Any]) -> Blended | None:
    """Return what the models are blended with, if anything."""
    if "blended_with_general" not in recipe:
        return None
    blended = Blended(**recipe["blended_with_general"])
    if not (isinstance(blended.others, list) and blended.others):
        raise ValueError("blended_with_general needs files in the list others")
    return blended
