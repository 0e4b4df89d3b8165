"""``tender-pipeline train``: learn from a history of tenders and their codes."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from pipeline.answers import SYSTEMS, System
from pipeline.cli.options import say
from pipeline.codes import load
from pipeline.engine.learned import (
    Examples,
    Labels,
    Lessons,
    Trained,
    check_free,
    save,
    title_examples,
    work,
)
from pipeline.engine.learned import (
    train as learn,
)
from pipeline.errors import InputError
from pipeline.placing import check_place
from pipeline.progress import bar, log_lines
from pipeline.settings import FORMATS, CsvOptions
from pipeline.tables import Reader, open_reader

__all__ = ["train"]

FEWEST = 20
"""Rows that can be learned from; of fewer none can be held back to see what was learned."""

SHOWN = 10
"""Unknown codes that are named."""

log = logging.getLogger("pipeline")


@click.command(short_help="Learn from your own history of tenders and their codes.")
@click.argument("history", type=click.Path(path_type=Path))
@click.option("--system", required=True, type=click.Choice(SYSTEMS), help="Whose codes they are.")
@click.option(
    "--text-column",
    "text_columns",
    multiple=True,
    default=["description"],
    show_default=True,
    help="A column that holds the text; repeat it to join several.",
)
@click.option(
    "--code-column", default="code", show_default=True, help="The column that holds the code."
)
@click.option(
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    help="The folder for the model; an older model in it is replaced.",
)
@click.option("--only-history", is_flag=True, help="Do not teach the titles of the codes along.")
@click.option("--overwrite", is_flag=True, help="Replace a folder that is no model.")
@click.option("--input-format", type=click.Choice(FORMATS), help="Where the name does not tell.")
@click.option("--delimiter", help="CSV: what separates the fields.  [default: found out]")
@click.option("--encoding", help="CSV: how characters are encoded.  [default: UTF-8]")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def train(**values: Any) -> int:
    """Learn the codes of one system from HISTORY, a CSV or Parquet table of tenders with codes.

    The model goes into a folder, which is complete or not there. Use it: tender-pipeline run
    --model DIR. A tenth of the rows is held back from a first model, to see how good it is; the
    model that is kept has learned all of them.
    """
    form = "%(message)s" if sys.stderr.isatty() else "%(asctime)s %(message)s"
    logging.basicConfig(format=form, stream=sys.stderr)
    log.setLevel(logging.INFO)
    path, system = values["history"], values["system"]
    check_free(values["output"], values["overwrite"])
    check_place(values["output"].resolve())
    options = CsvOptions(delimiter=values["delimiter"], encoding=values["encoding"])
    reader = open_reader(path, values["text_columns"], options, values["input_format"])
    lessons = _lessons(reader, path, system, values["code_column"])
    trained = _trained(system, lessons, values["only_history"])
    about = _about(lessons, trained)
    save(trained.model, values["output"], about, values["overwrite"])
    say(json.dumps(about) if values["as_json"] else _summary(about, values["output"]))
    return 0


def _lessons(reader: Reader, path: Path, system: System, column: str) -> Lessons:
    """Read a history; what cannot be learned from it is said at once."""
    place = _place(reader.schema.names, column, path)
    lessons = Lessons(Labels(load(system)))
    for batch in reader.batches():
        written = batch.to_arrow().column(place).to_pylist()
        lessons.read(batch.texts, [_text(value, system) for value in written])
    for line in _left_out(lessons):
        log.warning("%s", line)
    kept = len(lessons.examples().codes)
    if kept < FEWEST:
        raise InputError(
            f"{path} has {kept} rows of {lessons.rows:,} to learn from, and {FEWEST} are needed.",
            "Check --text-column, --code-column and --system, or give a longer history.",
        )
    return lessons


def _trained(system: System, lessons: Lessons, only_history: bool) -> Trained:
    examples = lessons.examples()
    table = lessons.labels.table
    titles = Examples.of([], []) if only_history else title_examples(table, examples)
    own_count, others = len(examples.codes), len(titles.codes)
    log.info(
        "learning from %s rows and %s titles, each read several times",
        f"{own_count:,}",
        f"{others:,}",
    )
    with (bar if sys.stderr.isatty() else log_lines)(work(own_count, others)) as advance:
        return learn(system, examples, titles, advance)


def _place(names: Sequence[str], wanted: str, path: Path) -> int:
    """Return where the column of the codes stands."""
    times = list(names).count(wanted)
    if times == 1:
        return list(names).index(wanted)
    close = get_close_matches(wanted, names, n=1, cutoff=0.0)
    hint = f"Did you mean {close[0]!r}? " if close else ""
    raise InputError(
        f"{path} has {times or 'no'} columns named {wanted!r}.",
        f"{hint}Name the column that holds the code: --code-column NAME.",
    )


def _text(value: Any, system: System) -> str:
    """Return a code as text; a whole number lost the zero that some CPV codes begin with."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and system == "cpv" and len(str(value)) == 7:
        return f"0{value}"
    return "" if value is None else str(value)


def _left_out(lessons: Lessons) -> Iterator[str]:
    """Say which rows are not learned from."""
    if lessons.without_text:
        yield f"left out for want of text: {_rows(lessons.without_text)}"
    if lessons.without_code:
        yield f"left out for want of a code: {_rows(lessons.without_code)}"
    if lessons.unknown:
        most = lessons.unknown.most_common(SHOWN)
        named = ", ".join(f"{code[:40]} ({rows:,})" for code, rows in most)
        more = len(lessons.unknown) - len(most)
        yield (
            f"left out: {_rows(lessons.unknown.total())} whose code the "
            f"{lessons.labels.table.system} table lacks or that is no full code: {named}"
            + (f" and {more:,} more" if more else "")
        )
    if lessons.generalised:
        yield f"learned by class, as the table lacks the commodity: {_rows(lessons.generalised)}"


def _rows(number: int) -> str:
    return "1 row" if number == 1 else f"{number:,} rows"


def _about(lessons: Lessons, trained: Trained) -> dict[str, Any]:
    """Return what is kept with the model and printed as JSON."""
    return {
        "rows": lessons.rows,
        "learned_rows": len(lessons.examples().codes),
        "rows_without_text": lessons.without_text,
        "rows_without_code": lessons.without_code,
        "unknown_codes": dict(lessons.unknown.most_common()),
        "rows_by_class": lessons.generalised,
        "codes": int(trained.model.exampled.sum()),
        "codes_by_title": int((~trained.model.exampled).sum()),
        "held_back": {
            "rows": trained.held_back,
            "repeats": trained.repeats,
            "right": {str(top): round(share, 4) for top, share in trained.right.items()},
            "calibration_error": round(trained.error, 4),
        },
    }


def _summary(about: dict[str, Any], output: Path) -> str:
    held = about["held_back"]
    right = held["right"]
    return "\n".join(
        [
            f"learned {about['learned_rows']:,} of {about['rows']:,} rows: {about['codes']:,} codes"
            f" from examples, {about['codes_by_title']:,} from their titles alone",
            f"held back {held['rows']:,} rows, {held['repeats']:,} of them texts learned too",
            f"right code first: {right['1']:.0%}, among 5: {right['5']:.0%}, "
            f"among 10: {right['10']:.0%}; confidence off by {held['calibration_error']:.3f}",
            f"model: {output}",
        ]
    )
