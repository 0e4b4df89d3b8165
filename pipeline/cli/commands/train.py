"""``tender-pipeline train``: learn from a history of tenders and their codes."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from pipeline.answers import SYSTEMS, System
from pipeline.cli.options import labelled_columns, log_to_stderr, say
from pipeline.cli.output.held_out import by_level, by_source
from pipeline.cli.output.skipped_rows import left_out, retired_codes
from pipeline.cli.recipe import read_recipe
from pipeline.codes import load, retirements
from pipeline.engine.model import (
    Course,
    Lessons,
    Recipe,
    Trained,
    check_free,
    history_course,
    history_recipe,
    load_model,
    save,
    shipped_models,
    work,
)
from pipeline.engine.training.train import train as learn
from pipeline.errors import InputError, SettingsError
from pipeline.files.atomic import check_place
from pipeline.progress import bar, log_lines
from pipeline.settings import FORMATS, CsvOptions
from pipeline.tables import Reader, find_column, labels, open_reader

__all__ = ["train"]

FEWEST = 20
"""Rows that can be learned from; of fewer none can be held back to see what was learned."""

log = logging.getLogger("pipeline")


@click.command(short_help="Learn from your own history of tenders and their codes.")
@click.argument("history", required=False, type=click.Path(path_type=Path))
@click.option("--system", type=click.Choice(SYSTEMS), help="Whose codes they are.")
@labelled_columns
@click.option(
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    help="The folder for the model; an older model in it is replaced.",
)
@click.option("--only-history", is_flag=True, help="Let nothing but the history answer.")
@click.option(
    "--recipe",
    type=click.Path(path_type=Path),
    help="Instead of a history: a file that says what teaches several systems together.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Networks that learn at once, in processes of their own.",
)
@click.option("--overwrite", is_flag=True, help="Replace a folder that is no model.")
@click.option("--input-format", type=click.Choice(FORMATS), help="Where the name does not tell.")
@click.option("--delimiter", help="CSV: what separates the fields.  [default: found out]")
@click.option("--encoding", help="CSV: how characters are encoded.  [default: UTF-8]")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def train(**values: Any) -> int:
    """Learn the codes of one system from HISTORY, a CSV or Parquet table of tenders with codes.

    The model goes into a folder, which is complete or not there. Use it: tender-pipeline run
    --model DIR. It answers together with the model that comes with this tool, with the weight that
    suits a tenth of the rows best. That tenth is held back from a first model, to see how good it
    is; the model that is kept has learned all of them.
    """
    log_to_stderr()
    _check(values)
    check_free(values["output"], values["overwrite"])
    check_place(values["output"].resolve())
    about = _from_recipe(values) if values["recipe"] else _from_history(values)
    say(json.dumps(about) if values["as_json"] else _summary(about, values["output"]))
    return 0


def _check(values: Mapping[str, Any]) -> None:
    if (values["history"] is None) == (values["recipe"] is None):
        raise SettingsError(
            "Nothing says what to learn from, or two things do.",
            "Give a history (tender-pipeline train HISTORY --system cpv --output DIR) or a recipe "
            "(--recipe FILE).",
        )
    if values["recipe"] is not None and (values["system"] or values["only_history"]):
        raise SettingsError(
            "A recipe says itself what is learned of which systems.",
            "Leave --system and --only-history out.",
        )
    if values["history"] is not None and values["system"] is None:
        raise SettingsError(
            "Nothing says whose codes the history has.", f"Give --system {'|'.join(SYSTEMS)}."
        )


def _from_history(values: Mapping[str, Any]) -> dict[str, Any]:
    """Learn a history, keep the model, and return what is to be said of it."""
    path, system = values["history"], values["system"]
    options = CsvOptions(delimiter=values["delimiter"], encoding=values["encoding"])
    reader = open_reader(path, values["text_columns"], options, values["input_format"])
    lessons = _lessons(reader, path, system, values["code_column"])
    examples = lessons.examples()
    beside = None if values["only_history"] else load_model(shipped_models(), system)
    course = history_course(system, examples, beside)
    (trained,) = _trained([course], history_recipe(len(examples)), values["jobs"])
    about = _about(lessons, course, trained)
    save([trained.model], values["output"], about, values["overwrite"])
    return about


def _from_recipe(values: Mapping[str, Any]) -> dict[str, Any]:
    """Learn what a recipe says, keep the models, and return what is to be said of them."""
    prepared = read_recipe(values["recipe"])
    trained = _trained(prepared.courses, prepared.recipe, values["jobs"])
    about: dict[str, Any] = {
        course.system: {
            **_about(lessons, course, each),
            "learned_by_source": dict(learned.most_common()),
            "by_source": by_source(each, sources),
            "by_level": by_level(each, course.system),
        }
        for course, lessons, sources, learned, each in zip(
            prepared.courses,
            prepared.lessons,
            prepared.sources,
            prepared.learned,
            trained,
            strict=True,
        )
    }
    save([each.model for each in trained], values["output"], about, values["overwrite"])
    return about


def _lessons(reader: Reader, path: Path, system: System, column: str) -> Lessons:
    """Read a history; what cannot be learned from it is said at once."""
    place = find_column(reader.schema.names, column, path, "--code-column")
    lessons = Lessons(load(system), retirements(system))
    for batch in reader.batches():
        lessons.read(batch.texts, labels(batch.to_arrow(), place, "--code-column"))
    for line in left_out(lessons):
        log.warning("%s", line)
    kept = len(lessons.examples().codes)
    if kept < FEWEST:
        raise InputError(
            f"{path} has {kept} rows of {lessons.rows:,} to learn from, and {FEWEST} are needed.",
            "Check --text-column, --code-column and --system, or give a longer history.",
        )
    return lessons


def _trained(courses: Sequence[Course], recipe: Recipe, jobs: int) -> list[Trained]:
    rows = sum(len(each.taught) + len(each.held_back) for each in courses)
    phrases = sum(len(each.phrases) for each in courses)
    named = f"{rows:,} rows" + (f" and {phrases:,} titles and phrases" if phrases else "")
    log.info("learning from %s, each read several times", named)
    with (bar if sys.stderr.isatty() else log_lines)(work(courses, recipe)) as advance:
        return learn(courses, recipe, advance, jobs)


def _about(lessons: Lessons, course: Course, trained: Trained) -> dict[str, Any]:
    """Return what is kept with the model and printed as JSON."""
    return {
        "system": course.system,
        "rows": lessons.rows,
        "learned_rows": len(course.taught) + len(course.held_back),
        "rows_without_text": lessons.without_text,
        "rows_without_code": lessons.without_code,
        "unknown_codes": dict(lessons.unknown.most_common()),
        "retired_codes": retired_codes(lessons),
        "rows_beyond_the_table": lessons.beyond,
        "phrases": len(course.phrases),
        "codes": len(trained.model.codes),
        "codes_from_examples": len(set(course.examples(whole=True).codes.tolist())),
        "weight_of_the_history": trained.model.weight,
        "held_back": {
            "rows": len(trained.truth),
            "repeats": trained.repeats,
            "right": {str(top): round(trained.right(top), 4) for top in (1, 5, 10)},
            "calibration_error": round(trained.error, 4),
        },
    }


def _summary(about: Mapping[str, Any], output: Path) -> str:
    systems = [about] if "held_back" in about else list(about.values())
    return "\n".join([*(line for each in systems for line in _said(each)), f"model: {output}"])


def _said(about: Mapping[str, Any]) -> Iterator[str]:
    """Say what was learned of one system."""
    held = about["held_back"]
    right = held["right"]
    yield (
        f"{about['system']}: learned {about['learned_rows']:,} rows with "
        f"{about['codes_from_examples']:,} codes, can answer with {about['codes']:,}"
    )
    if about["weight_of_the_history"] < 1:
        yield (
            f"  answers: {about['weight_of_the_history']:.0%} the history, the rest the model that "
            "comes with this tool"
        )
    yield f"  held back {held['rows']:,} rows, {held['repeats']:,} of them texts learned too"
    yield (
        f"  right code first: {right['1']:.0%}, among 5: {right['5']:.0%}, "
        f"among 10: {right['10']:.0%}; confidence off by {held['calibration_error']:.3f}"
    )
