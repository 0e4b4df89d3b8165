"""The report of a run: collects its figures in bounded memory, and draws the page about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from heapq import heappop, heappush
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from jinja2 import Environment
from markupsafe import Markup

from pipeline.answers import (
    LIKELY,
    MEASURED,
    SURE,
    Answer,
    BatchAnswers,
    Match,
    Matched,
    System,
    bounded,
    chance,
)
from pipeline.classification.columns import review_under, status
from pipeline.classification.excerpts import NO_MODELS, READ, excerpt, other_columns, spoken_words
from pipeline.classification.manifest import part_of
from pipeline.classification.summary import SETTLED, Summary
from pipeline.codes import titles
from pipeline.codes.table import cut, full_code, levels_above
from pipeline.files.atomic import MarkedFile
from pipeline.money import plain
from pipeline.pages import FEWEST, WANTED, Taken, environment, most_taken
from pipeline.report.changes import Compared
from pipeline.settings import Settings
from pipeline.tables.table import Batch
from pipeline.wording import option, readable

if TYPE_CHECKING:  # the report of a paid run needs no engine
    from pipeline.engine.model import ModelFolder

BINS = 100
"""Bins of the scale of confidence, each .01 wide."""

SHOWN = 10
"""Texts to look at that the report lists, the least certain ones."""


FIELD_DIGITS = 2
"""Leading digits by which the report counts codes: the division, group, segment or sector."""


@dataclass(slots=True)
class SystemFigures:
    """What the best matches of one system are worth.

    Attributes:
        confidences: rows with a best match by the bin of its confidence, from 0.
        fields: rows by the field of their best match: see `FIELD_DIGITS`.
        sure: the sum of the confidences of all best matches.
    """

    confidences: Counter[int] = field(default_factory=Counter)
    fields: Counter[str] = field(default_factory=Counter)
    sure: float = 0.0


class Judged(NamedTuple):
    """The status that a row shows for an answer, and the best match; None without any."""

    status: str
    best: Match | None


@dataclass(slots=True)
class Doubtful:
    """A text to look at, and how many rows have it.

    The doubt is 1 minus the lowest confidence of its uncertain matches; 1 if one is missing. The
    columns are the others of its first row.
    """

    doubt: float
    row: int
    text: str
    answers: dict[System, Judged]
    digest: bytes
    columns: dict[str, str] = field(default_factory=dict)
    rows: int = 1

    def __lt__(self, other: Doubtful) -> bool:
        """Sort by how much a text needs a look, the least first; of equals, the first row last."""
        return (self.doubt, -self.row) < (other.doubt, -other.row)


class Collected:
    """The figures of a report.

    Attributes:
        models: the learned models that replace the package's.
        first: the number of the first row, as a spreadsheet counts.
        numbers: the numbers of the rows that were added last.
    """

    def __init__(
        self, settings: Settings, models: Mapping[System, ModelFolder] = NO_MODELS
    ) -> None:
        self.settings, self.models = settings, models
        self.rows = self.first = 0
        self.numbers: Sequence[int] = ()
        self.systems = {system: SystemFigures() for system in settings.systems}
        self._doubtful: list[Doubtful] = []
        self._listed: dict[bytes, Doubtful] = {}

    @property
    def doubtful(self) -> list[Doubtful]:
        """The texts that most need a look, in that order."""
        return sorted(self._doubtful, reverse=True)

    def add(self, batch: Batch, answers: BatchAnswers) -> None:
        """Count a batch of rows."""
        self.rows += len(batch.texts)
        self.numbers = batch.numbers
        self.first = self.first or next(iter(self.numbers), 0)
        columns = cache(lambda: other_columns(batch.to_arrow(), self.settings))
        under = {system: review_under(self.settings, system) for system in self.systems}
        for number, text in enumerate(batch.texts):
            row = {
                system: _judge(answers[system][number], under[system]) for system in self.systems
            }
            for system, judged in row.items():
                _count(self.systems[system], system, judged)
            if any(judged.status not in SETTLED for judged in row.values()):
                self._keep(text, row, number, columns)

    def _keep(
        self,
        text: str,
        row: dict[System, Judged],
        number: int,
        columns: Callable[[], list[dict[str, str]]],
    ) -> None:
        digest = sha256(text.encode("utf-8", "surrogatepass")).digest()
        if digest in self._listed:
            self._listed[digest].rows += 1
            return
        new = Doubtful(_doubt(row), self.numbers[number], text[:READ], row, digest)
        if len(self._doubtful) == SHOWN:
            if new < self._doubtful[0]:
                return
            del self._listed[heappop(self._doubtful).digest]
        new.columns = columns()[number]
        self._listed[digest] = new
        heappush(self._doubtful, new)


def _judge(answer: Answer | None, under: float) -> Judged:
    best = answer.matches[0] if isinstance(answer, Matched) and answer.matches else None
    return Judged(status(answer, under), best)


def _count(figures: SystemFigures, system: System, judged: Judged) -> None:
    if (best := judged.best) is None:
        return
    figures.fields[cut(system, best.code, FIELD_DIGITS)] += 1
    if judged.status != "decided":
        confidence = bounded(best.confidence)
        figures.confidences[min(BINS - 1, max(0, int(confidence * BINS)))] += 1
        figures.sure += confidence


def _doubt(row: dict[System, Judged]) -> float:
    return max(
        1.0 if judged.best is None else 1 - judged.best.confidence
        for judged in row.values()
        if judged.status not in SETTLED
    )


MARK = "<!-- a report by tender-pipeline -->"

MOST_FIELDS = 10
"""Fields of a system that the chart shows."""

MOST_OF_A_TITLE = 150
"""Characters of a field's title; the longest of the shipped ones has 140."""


def page_file(path: Path) -> MarkedFile:
    """Return where the page goes; it checks the place and writes the page."""
    return MarkedFile(path, MARK, option("report"))


def page(
    collected: Collected,
    summary: Summary,
    manifest: Mapping[str, Any],
    previous: Mapping[str, Any] | None = None,
    compared: Compared | None = None,
) -> str:
    """Return the page as text, with what changed since the run before, if there was one."""
    calibrated, settings = summary.paid is None, collected.settings
    return (
        _templates()
        .get_template("report.html.j2")
        .render(
            mark=Markup(MARK),  # noqa: S704 - a constant
            collected=collected,
            summary=summary,
            manifest=manifest,
            systems=[
                _system(*figures, calibrated, settings) for figures in collected.systems.items()
            ],
            measured=MEASURED if calibrated and settings.measured else {},
            likely=LIKELY,
            sure=SURE,
            useful=_useful(summary),
            unmarked=None if summary.to_check else summary.doubtful_under,
            settled=SETTLED,
            failures=summary.failures.most_common(),
            changes=list(_changes(manifest, previous)) if previous else [],
            since=previous and previous.get("finished"),
            compared=compared,
            titles=_titles(compared, settings.language) if compared else {},
            excerpts=_excerpts(collected, compared, calibrated),
        )
    )


def _useful(summary: Summary) -> str:
    """Return which codes can be used as they are; "" if none can."""
    names = ["decided"] if "decided" in summary.kinds else []
    if summary.to_check:
        names += ["ok"] * any(system.statuses.get("ok") for system in summary.systems.values())
    elif {"sure", "likely"} & {*summary.kinds}:
        names += ["sure", "likely"]
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def _system(
    name: System, figures: SystemFigures, calibrated: bool, settings: Settings
) -> dict[str, Any]:
    """Return one system as the page shows it."""
    answered = figures.confidences.total()
    decided = figures.fields.total() - answered
    points = _points(figures, decided) if calibrated and answered >= FEWEST else []
    under = review_under(settings, name)
    return {
        "name": name,
        "figures": figures,
        "answered": answered,
        "fields": [*_fields(name, figures, settings.language)] if answered else [],
        "field_name": levels_above(name)[FIELD_DIGITS],
        "through": {share: most_taken(points, share) for share in WANTED} if points else None,
        "decided": decided,
        "under": under if isfinite(under) else None,
    }


def _fields(
    system: System, figures: SystemFigures, language: str
) -> Iterator[tuple[str, str, int]]:
    """Yield the most frequent fields, each with its title and its rows."""
    shown = titles(system, language)
    for code, rows in figures.fields.most_common(MOST_FIELDS):
        yield code, readable(shown.get(full_code(system, code), ""), MOST_OF_A_TITLE), rows


def _points(figures: SystemFigures, decided: int) -> list[Taken]:
    """Return how many of the most confident rows are expected to be right, from few to many.

    What a person decided is right, and comes first.
    """
    points = [Taken(decided, 1.0, None)] if decided else []
    rows, right = decided, float(decided)
    total = decided + figures.confidences.total()
    for hundredths in sorted(figures.confidences, reverse=True):
        rows += figures.confidences[hundredths]
        right += figures.confidences[hundredths] * (hundredths + 0.5) / BINS
        if rows >= FEWEST or rows == total:
            points.append(Taken(rows, right / rows, hundredths / BINS))
    return points


def _titles(compared: Compared, language: str) -> dict[tuple[System, str], str]:
    """Return the titles of the codes that changed, as far as the code tables have them."""
    return {
        (system, code): titles(system, language).get(code, "")
        for row in compared.rows
        for system, codes in row.codes.items()
        for code in codes
        if code is not None
    }


def _excerpts(collected: Collected, compared: Compared | None, by_engine: bool) -> dict[int, str]:
    """Return the part of the text of each row on the page that spoke for its codes."""
    rows: list[tuple[int, str, list[tuple[System, str, str]]]] = [
        (row.row, row.text, [(of, code, "") for of, (_, code) in row.codes.items() if code])
        for row in (compared.rows if compared else ())
    ]
    for row in collected.doubtful:
        judged = [
            (of, decided.best)
            for of, decided in row.answers.items()
            if decided.status not in SETTLED
        ]
        named = [(of, best.code, best.title) for of, best in judged if best is not None]
        rows.append((row.row, row.text, named))
    return {
        number: excerpt(text, spoken_words(text, codes, by_engine, collected.models))
        for number, text, codes in rows
    }


def _changes(
    now: Mapping[str, Any], before: Mapping[str, Any]
) -> Iterator[tuple[str, str, str, str]]:
    """Yield the figures that differ from the run before: name, before, now, difference."""
    new, old = now["summary"], part_of(before, "summary")
    pairs: list[tuple[str, object, object]] = [("rows", old.get("rows"), new["rows"])]
    for system, figures in new["systems"].items():
        then = part_of(part_of(old, "systems"), system)
        pairs += [
            (f"{system.upper()}, {kind.replace('_', ' ')}", then.get(kind), figures[kind])
            for kind in ("ok", "review", "no_match", "decided", "failed")
        ]
    for name, was, count in pairs:
        if isinstance(was, int) and isinstance(count, int) and was != count:
            by = f"{count - was:+,}".replace("-", "\N{MINUS SIGN}")
            yield name, f"{was:,}", f"{count:,}", by
    if old.get("cost_usd") != new["cost_usd"]:
        yield "cost, USD", readable(str(old.get("cost_usd"))), new["cost_usd"], ""


@cache
def _templates() -> Environment:
    templates = environment("pipeline.report")
    templates.filters |= {"readable": readable, "usd": plain, "chance": chance}
    return templates
