"""What can be evaluated: the embedded engine, the titles alone, a model, or a paid service."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pipeline.answers import Matcher, System
from pipeline.engine import Engine
from pipeline.engine.model import ModelFolder, load_model, opened
from pipeline.errors import SettingsError
from pipeline.processes import Jobs
from pipeline.settings import MAX_TOP, EngineName
from pipeline.wording import beside, both, option

if TYPE_CHECKING:  # what buys is imported if a service is evaluated
    from pipeline.paid.service import PaidService

A_SERVICE = both(
    "the address of a service, which begins with http:// or https://",
    'a service: pipeline.PaidService("https://service.example")',
)


@dataclass(frozen=True, slots=True)
class Embedded:
    """The embedded engine, offline and free.

    Attributes:
        engine: ``learned`` answers as ``run`` does, ``lexical`` by the titles of the codes alone.
        model: a learned model to use in place of the shipped one.
    """

    engine: EngineName = "learned"
    model: ModelFolder | None = None

    @property
    def name(self) -> str:
        """Its name in a report."""
        if self.model is not None:
            return f"model {self.model.path.name or self.model.path}"
        return "embedded engine" if self.engine == "learned" else "lexical engine"

    def matcher(self, system: System, jobs: Jobs, explain: bool = False) -> Matcher:
        """Return the matcher of a system; its answers name the words for a code if asked to."""
        models = {} if self.model is None else {system: self.model}
        return Engine((system,), MAX_TOP, jobs, models, self.engine, explain)

    def learned(self, system: System, batches: Iterable[Sequence[str]]) -> int:
        """Return how many of the texts a model of the user's was trained on."""
        if self.model is None:
            return 0
        return sum(map(load_model(self.model, system).learned, batches))


@dataclass(frozen=True, slots=True)
class Paid:
    """A paid service, with the terms of buying from it."""

    service: PaidService

    @property
    def name(self) -> str:
        """Its name in a report."""
        return self.service.name


Subject: TypeAlias = Embedded | Paid


def offline(word: str, system: System) -> Embedded:
    """Return the subject of a name: ``engine``, ``lexical`` or a model's folder.

    Raises:
        SettingsError: the name is unknown, or the model is of another system or damaged.
    """
    if word in ("engine", "lexical"):
        return Embedded("learned" if word == "engine" else "lexical")
    if not Path(word).is_dir():
        raise SettingsError(
            f"Unknown subject: {word!r}.",
            "Name engine, lexical, the folder of a model (./engine for one of that name) or "
            f"{A_SERVICE}.",
        )
    return model(Path(word), system)


def model(folder: Path, system: System) -> Embedded:
    """Return a learned model as a subject; it is loaded once to check it.

    Raises:
        SettingsError: the folder holds no model, a damaged one, or one of another system.
    """
    return Embedded(model=opened([str(folder)], [system])[system])


def check_subjects(subjects: Sequence[Subject], suspects: bool) -> None:
    """Refuse two subjects that are one or both paid, and the suspicious rows of two.

    Raises:
        SettingsError: they are.
    """
    if sum(isinstance(each, Paid) for each in subjects) > 1:
        raise SettingsError(
            "Both subjects are paid services.",
            f"Evaluate each by itself, with the same {option('sample')} and {option('seed')}.",
        )
    if len(set(subjects)) < len(subjects):
        raise SettingsError(
            "The two subjects are the same.",
            f"Name two different ones{beside('compare')}, or evaluate one.",
        )
    if suspects and len(subjects) > 1:
        raise SettingsError(
            "The suspicious rows of two subjects were asked for.",
            f"Evaluate one of them with {option('suspects')}.",
        )


def is_address(word: str) -> bool:
    """Return whether a word is the address of a service."""
    return "://" in word
