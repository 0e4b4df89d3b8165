"""What one evaluation does with a labelled table, with its checks in one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pipeline.answers import System
from pipeline.checks import option_name, whole_number
from pipeline.errors import SettingsError
from pipeline.settings import MAX_TOP, Settings, parse_systems

__all__ = ["EvaluationSettings"]


@dataclass(frozen=True, slots=True)
class EvaluationSettings:
    """What to ask of which rows.

    Attributes:
        system: whose codes they are.
        text_columns: the columns that hold the text.
        code_column: the column that holds the right code.
        language_column: the column that names the language, if there is one.
        sample: how many rows are drawn; None for all.
        seed: which rows those are: the same seed draws the same rows of the same table.
        jobs: how many processes the embedded engine uses.
    """

    system: System
    text_columns: tuple[str, ...] = ("description",)
    code_column: str = "code"
    language_column: str | None = None
    sample: int | None = None
    seed: int = 0
    jobs: int = 1

    def __post_init__(self) -> None:
        (system,) = parse_systems([self.system] if isinstance(self.system, str) else self.system)
        asked = Settings(text_columns=self.text_columns, jobs=self.jobs)
        object.__setattr__(self, "system", system)
        object.__setattr__(self, "text_columns", asked.text_columns)
        object.__setattr__(self, "jobs", asked.jobs)
        if self.sample is not None:
            object.__setattr__(self, "sample", whole_number("sample", self.sample, 1))
        object.__setattr__(self, "seed", whole_number("seed", self.seed, 0))
        _column("code_column", self.code_column)
        if self.language_column is not None:
            _column("language_column", self.language_column)

    @property
    def label_columns(self) -> dict[str, str]:
        """The columns of the codes and, if there is one, of the languages, by their options."""
        columns = {"--code-column": self.code_column}
        if self.language_column is not None:
            columns["--language-column"] = self.language_column
        return columns

    @property
    def asked(self) -> Settings:
        """The same as a job's settings: as many matches as there can be, for one system."""
        return Settings((self.system,), self.text_columns, top=MAX_TOP, jobs=self.jobs)


def _column(name: str, value: Any) -> None:
    if not isinstance(value, str) or not value:
        hint = f"{name} must name a column ({option_name(name)} NAME)."
        raise SettingsError(f"{name} is {value!r}.", hint)
