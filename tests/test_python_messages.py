"""In Python errors name arguments, and their tracebacks end at the public function."""

from __future__ import annotations

import ast
import inspect
import traceback
from collections.abc import Iterator
from dataclasses import fields
from operator import attrgetter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import pipeline
import pipeline.spark
from pipeline.errors import ParkedError
from pipeline.python_messages import (
    ARGUMENTS,
    CLASSES,
    OPTION,
    in_python,
    of_options,
    python_words,
)

PACKAGE = Path(pipeline.__file__).parent

ONLY_THERE = {"bodies", "input_format", "json", "no_header", "output_format", "page"}
ONLY_THERE |= {"endpoint_url", "merge", "report", "yes"}
"""Options that are not an argument each."""


def worded() -> Iterator[str]:
    """Yield what the package says to its users that names an option."""
    for path in PACKAGE.rglob("*.py"):
        if path.relative_to(PACKAGE).parts[0] in ("cli", "service", "python_messages.py"):
            continue
        commands: set[ast.AST] = set()  # they are the same in Python
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Call(func=ast.Name(id="command")):
                    commands.update(node.args)
                case _ if node in commands:
                    pass
                case ast.Constant(value=str(text)) if OPTION.search(text) and "``--" not in text:
                    yield text


def test_a_command_about_a_ledger_is_the_same_in_python() -> None:
    command = "tender-pipeline ledger attempts --state unconfirmed --ledger '/a/my ledger.db'"
    advice = f"Compare them ({command}), or buy them again with --retry-failed."
    said = f"Compare them ({command}), or buy them again with retry_failed=True."
    assert python_words(advice) == said


def test_every_option_that_an_error_may_name_is_an_argument_in_python() -> None:
    options = (pipeline.PaidService, pipeline.CsvOptions, pipeline.ExcelOptions)
    known = {field.name for kind in options for field in fields(kind)}
    for function in (pipeline.classify, pipeline.plan, pipeline.evaluate, pipeline.train):
        known |= {*inspect.signature(function).parameters}
    texts = list(worded())
    assert len(texts) > 30
    for text in texts:
        said = python_words(text)
        assert "--" not in said, text
        named = {found["option"].replace("-", "_") for found in OPTION.finditer(text)}
        assert {ARGUMENTS.get(name, name) for name in named} - ONLY_THERE <= known, text


@pytest.mark.parametrize(
    ("option", "argument"),
    [
        ("Use --text-column 'Contract title'.", 'Use text_columns=["Contract title"].'),
        ("Name it: --text-column NAME.", 'Name it: text_columns=["NAME"].'),
        ("top must be 1 to 10 (--top).", "top must be 1 to 10."),
        ("Use fewer processes: --jobs 1.", "Use fewer processes: jobs=1."),
        (
            "Replace it with --overwrite, or write elsewhere: --output PATH.",
            'Replace it with overwrite=True, or write elsewhere: output="PATH".',
        ),
        (
            "Raise --max-cost and run the same command: it continues.",
            "Raise max_cost and make the same call: it continues.",
        ),
        (
            "Run the same command later, wait for it with --wait, or use an API key.",
            "Make the same call later, wait for it with wait=True, or use an API key.",
        ),
        (
            "Try --encoding cp1252, or --delimiter tab, or --line-end, or --no-header.",
            'Try csv=pipeline.CsvOptions(encoding="cp1252"), or '
            'csv=pipeline.CsvOptions(delimiter="tab"), or '
            "csv=pipeline.CsvOptions(line_end=...), or csv=pipeline.CsvOptions(header=False).",
        ),
        (
            "Use --quote-escape none only for tables with tabs.",
            'Use csv=pipeline.CsvOptions(quote_escape="none") only for tables with tabs.',
        ),
        ("Write CSV: --output-format csv.", 'Write CSV: output="NAME.csv".'),
        (
            "Use --input-format parquet, or rename it to end in .parquet.",
            "Rename it to end in .parquet.",
        ),
        (
            "Remove --explain, or the service (--base-url).",
            "Remove explain=True, or the service.",
        ),
    ],
)
def test_options_become_arguments(option: str, argument: str) -> None:
    assert python_words(option) == argument


@pytest.mark.parametrize("name", ["classify", "plan"])
def test_a_misspelt_column_names_the_argument_in_a_short_traceback(name: str) -> None:
    frame = pd.DataFrame({"title": ["Road marking"], "id": [1]})
    with pytest.raises(pipeline.InputError) as caught:
        getattr(pipeline, name)(frame, text_columns="titel")
    assert 'text_columns=["title"]' in caught.value.hint
    assert "--" not in str(caught.value)
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert names[1:] == [name]
    assert caught.value.__suppress_context__


def test_what_makes_a_model_is_a_function_in_python(tmp_path: Path) -> None:
    with pytest.raises(pipeline.SettingsError, match=r"that pipeline\.train made of .*: models="):
        pipeline.classify(["Road works"], models=tmp_path)


def test_an_evaluation_says_it_so_too() -> None:
    frame = pd.DataFrame({"title": ["Road marking"], "code": ["45233221"]})
    with pytest.raises(pipeline.InputError) as caught:
        pipeline.evaluate(frame, system="cpv", text_columns="titel")
    assert 'text_columns=["title"]' in caught.value.hint
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert names[1:] == ["evaluate"]


@pytest.mark.anyio
async def test_what_is_awaited_says_it_so_too() -> None:
    with pytest.raises(pipeline.InputError) as caught:
        await pipeline.classify_async(pd.DataFrame({"title": ["x"]}), text_columns="titel")
    assert 'text_columns=["title"]' in caught.value.hint


def test_a_parked_error_keeps_what_it_knows() -> None:
    error = in_python(ParkedError("Over --max-cost.", "Raise --max-cost.", 5))
    assert (error.message, error.hint, error.exit_code) == ("Over max_cost.", "Raise max_cost.", 5)
    assert error.args[:3] == ("Over max_cost.", "Raise max_cost.", 5)


def test_an_interrupt_is_shown_without_the_inside_of_the_package() -> None:
    def pressed(rows: int) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        pipeline.classify(["Road works"], systems="psc", progress=pressed)
    assert [entry.name for entry in caught.traceback][1:] == ["classify"]


@pytest.mark.parametrize(
    ("call", "argument", "hint"),
    [
        ("classify", "encoding", "Write csv=pipeline.CsvOptions(encoding=...)."),
        ("plan", "sep", "Write csv=pipeline.CsvOptions(delimiter=...)."),
        ("train", "sheet", "Write excel=pipeline.ExcelOptions(sheet=...)."),
        ("plan", "base_url", "Write service=pipeline.PaidService(base_url=...)."),
        ("evaluate", "api_key_file", "Write subject=pipeline.PaidService(api_key=...)."),
        ("classify", "nrows", "Did you mean limit_rows?"),
        ("classify", "column", "Did you mean text_columns?"),
        ("evaluate", "service", "Did you mean subject?"),
        ("PaidService", "url", "Did you mean base_url?"),
        ("evaluate", "label_column", "Did you mean code_column?"),
        ("evaluate", "model", "Did you mean subject?"),
        ("evaluate", "compare", "Did you mean against?"),
        ("train", "labels", "Did you mean code_column?"),
        ("classify", "sheet_name", "Write excel=pipeline.ExcelOptions(sheet=...)."),
        ("PaidService", "budget", "Did you mean max_cost?"),
        ("classify", "min_confidense", "Did you mean min_confidence?"),
        ("evaluate", "zzz", "help(pipeline.evaluate) lists its arguments."),
        ("code_table", "systems", "Did you mean system?"),
        ("CsvOptions", "sep", "Did you mean delimiter?"),
        ("CsvOptions", "no_header", "Did you mean header?"),
        ("ExcelOptions", "sheets", "Did you mean sheet?"),
        ("PaidService", "max_costs", "Did you mean max_cost?"),
        ("PaidService", "zzz", "help(pipeline.PaidService) lists its arguments."),
        ("Classifier", "model", "Did you mean models?"),
        ("spark.classify", "rate", "Write service=pipeline.PaidService(rate=...)."),
        ("spark.classify", "zzz", "help(pipeline.spark.classify) lists its arguments."),
    ],
)
def test_the_error_about_a_missing_argument_says_what_to_write(
    call: str, argument: str, hint: str
) -> None:
    with pytest.raises(TypeError) as caught:
        attrgetter(call)(pipeline)(**{argument: "cp1252"})
    assert str(caught.value) == f"{call}() has no argument '{argument}'. {hint}"


def test_a_class_that_the_command_line_makes_too_names_options_only_there() -> None:
    classes: list[tuple[type[Any], dict[str, Any]]] = [
        (pipeline.CsvOptions, {"delimiter": "xx"}),
        (pipeline.CsvOptions, {"header": False, "header_row": 2}),
        (pipeline.ExcelOptions, {"sheet": 3}),
    ]
    for made, wrong in classes:
        with pytest.raises(pipeline.SettingsError) as caught:
            made(**wrong)
        assert "--" not in str(caught.value)
        with pytest.raises(pipeline.SettingsError, match="--"):
            of_options(made, **wrong)


def test_a_key_in_the_clear_is_a_warning_about_the_users_line() -> None:
    with pytest.warns(UserWarning, match="unencrypted") as caught:
        pipeline.PaidService("http://service.example", "key")
    assert caught[0].filename == __file__


def test_only_the_table_has_no_name() -> None:
    for name in ("classify", "plan", "evaluate", "train"):
        with pytest.raises(TypeError, match="Name the others, such as text_columns=") as caught:
            getattr(pipeline, name)(["Office chairs"], "title")
        assert len(caught.traceback) == 2


@pytest.mark.anyio
async def test_classify_async_answers_the_same() -> None:
    with pytest.raises(TypeError, match=r"Write csv=pipeline\.CsvOptions\(encoding=\.\.\.\)"):
        await pipeline.classify_async(["Office chairs"], encoding="cp1252")  # type: ignore[call-arg]


def test_the_header_row_of_a_csv_file_is_an_option_of_csv() -> None:
    hint = "The column names are in line 3. If that is the header, name it: --header-row 3."
    assert python_words(hint).endswith("name it: csv=pipeline.CsvOptions(header_row=3).")


def test_the_arguments_of_the_classes_are_known() -> None:
    for kind, names in CLASSES.values():
        missing = {field.name for field in fields(getattr(pipeline, kind))} - {*names}
        assert not missing
