"""What is evaluated, with the settings of an evaluation and their checks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pipeline.answers import Matcher, System
from pipeline.arguments import check_column, whole_number
from pipeline.decisions.decisions import CODE_COLUMN, NO_DECISIONS, TEXT_COLUMN, Decisions
from pipeline.engine import Engine
from pipeline.engine.model import ModelFolder, load_model, open_models
from pipeline.errors import SettingsError
from pipeline.processes import Jobs
from pipeline.settings import MAX_TOP, Settings, check_labels, parse_system
from pipeline.wording import beside, both, option

if TYPE_CHECKING:  # what buys is imported if a service is evaluated
    from pipeline.paid.service import PaidService


@dataclass(frozen=True, slots=True)
class EvaluationSettings:
    """Which rows are evaluated, and how.

    These are arguments of `pipeline.evaluate`, which describes them. With decisions, the table is
    that of `label_table`, and a code is right if they accept it.
    """

    system: System
    text_columns: tuple[str, ...] = ("description",)
    code_column: str = "code"
    sample: int | None = None
    seed: int = 0
    jobs: Jobs = 1
    source_column: str | None = None
    decisions: Decisions = NO_DECISIONS

    def __post_init__(self) -> None:
        if self.decisions.files:
            object.__setattr__(self, "text_columns", (TEXT_COLUMN,))
            object.__setattr__(self, "code_column", CODE_COLUMN)
        asked = Settings(text_columns=self.text_columns, jobs=self.jobs)
        object.__setattr__(self, "system", parse_system(self.system))
        object.__setattr__(self, "text_columns", asked.text_columns)
        object.__setattr__(self, "jobs", asked.jobs)
        if self.sample is not None:
            object.__setattr__(self, "sample", whole_number("sample", self.sample, 1))
        object.__setattr__(self, "seed", whole_number("seed", self.seed, 0))
        for name, column in self.label_columns.items():
            check_column(name, column)

    @property
    def label_columns(self) -> dict[str, str]:
        """The columns of the codes and, if there is one, of the sources, by their arguments."""
        source = {} if self.source_column is None else {"source_column": self.source_column}
        return {"code_column": self.code_column, **source}

    @property
    def asked(self) -> Settings:
        """The settings of a job that answers these rows, with as many matches as possible."""
        return Settings((self.system,), self.text_columns, top=MAX_TOP, jobs=self.jobs)


def check_given(table: object, decisions: object, system: object) -> None:
    """Refuse an evaluation without labels or a system, or with labels of two kinds.

    Raises:
        SettingsError: something is missing, or there are a table and decisions.
    """
    if table is not None and decisions:
        raise SettingsError(
            "There are labels in a table and in decisions.",
            f"Give a table with the right codes, or {option('decisions', 'FILE')}.",
        )
    check_labels(table, decisions, system)


A_SERVICE = both(
    "the address of a service, which begins with http:// or https://",
    'a service: pipeline.PaidService("https://service.example")',
)


@dataclass(frozen=True, slots=True)
class Embedded:
    """The embedded engine, offline and free.

    Attributes:
        model: a learned model to use in place of the shipped one.
    """

    model: ModelFolder | None = None

    @property
    def name(self) -> str:
        """Its name in a report."""
        if self.model is not None:
            return f"model {self.model.path.name or self.model.path}"
        return "embedded engine"

    def matcher(self, system: System, jobs: Jobs) -> Matcher:
        """Return the matcher of a system."""
        models = {} if self.model is None else {system: self.model}
        return Engine((system,), MAX_TOP, jobs, models)

    def learned(self, system: System, batches: Iterable[Sequence[str]]) -> int:
        """Return how many of the texts a model of the user's was trained on."""
        if self.model is None:
            return 0
        return sum(map(load_model(self.model, system).learned, batches))


Subject: TypeAlias = "Embedded | PaidService"


def offline(word: str, system: System) -> Embedded:
    """Return the subject of a name: ``engine`` or a model's folder.

    Raises:
        SettingsError: the name is unknown, or the model is of another system or damaged.
    """
    if word == "engine":
        return Embedded()
    if not Path(word).is_dir():
        raise unknown(word)
    return model(Path(word), system)


def unknown(subject: object) -> SettingsError:
    """Return the error about something that cannot be evaluated."""
    return SettingsError(
        f"Unknown subject: {subject!r}.",
        f"Name engine, the folder of a model (./engine for one of that name) or {A_SERVICE}.",
    )


def model(folder: Path, system: System) -> Embedded:
    """Return a learned model as a subject; it is loaded once to check it.

    Raises:
        SettingsError: the folder holds no model, a damaged one, or one of another system.
    """
    return Embedded(model=open_models(folder, [system])[0][system])


def check_subjects(subjects: Sequence[Subject]) -> None:
    """Refuse two paid or two equal subjects.

    Raises:
        SettingsError: they are.
    """
    if sum(not isinstance(subject, Embedded) for subject in subjects) > 1:
        raise SettingsError(
            "Both subjects are paid services.",
            f"Evaluate each by itself, with the same {option('sample')} and {option('seed')}.",
        )
    if len(set(subjects)) < len(subjects):
        raise SettingsError(
            "The two subjects are the same.",
            f"Name two different ones{beside('compare')}, or evaluate one.",
        )
