"""What the command line calls an option is an argument in Python, in every text that names one."""

from __future__ import annotations

import ast
import pickle
import re
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from decimal import Decimal
from importlib import import_module
from inspect import signature
from operator import attrgetter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import pipeline
import pipeline.spark
from pipeline import wording
from pipeline.arguments import shortened
from pipeline.cli.options import DialectOptions
from pipeline.cli.run_options import PaidOptions, RunOptions
from pipeline.errors import ParkedError
from pipeline.settings import Settings
from pipeline.wording import BEGIN, Words, in_python, option

PACKAGE = Path(pipeline.__file__).parent

GOLDEN = Path(__file__).with_name("wording.txt")
"""Each text as the command line words it, then as Python does; ``python -m tests.test_wording``
writes it again."""

PARTS = {
    "beside",
    "both",
    "csv_option",
    "excel_option",
    "flag_name",
    "option",
    "read_as",
    "variable_name",
    "written_as",
}
"""The module's functions that write the name of an option into a text."""

APART = ("cli", "service", "wording.py")
"""Their texts are for the command line, or for clients of the service."""


def texts() -> Iterator[str]:
    """Yield every text of the package that names an option, with the code of its facts."""
    for path in sorted(PACKAGE.rglob("*.py")):
        source = path.read_text("utf-8")
        inside = path.relative_to(PACKAGE)
        if inside.parts[0] in APART or "pipeline.wording" not in source:
            continue
        module = import_module(".".join(["pipeline", *inside.with_suffix("").parts]))
        nested: set[ast.AST] = set()
        for node in ast.walk(ast.parse(source)):  # outer nodes come first
            if node in nested or not isinstance(node, ast.JoinedStr | ast.Call):
                continue
            if BEGIN in (text := _text(node, vars(module))):
                nested.update(ast.walk(node))
                yield text


def _text(node: ast.AST, known: Mapping[str, Any]) -> str:
    match node:
        case ast.Constant(value=value):
            return str(value)
        case ast.JoinedStr(values=parts):
            return "".join(_text(part, known) for part in parts)
        case ast.FormattedValue(value=value):
            return _text(value, known)
        case ast.Name(id=name) if BEGIN in str(known.get(name)):
            return str(known[name])
        case ast.Call(func=ast.Name(id=name), args=args) if name in PARTS:
            facts = [
                each.value if isinstance(each, ast.Constant) else _text(each, known)
                for each in args
            ]
            return str(getattr(wording, name)(*facts))
    return f"<{ast.unparse(node)}>"


def golden() -> str:
    """Return the texts in both wordings."""
    return "\n".join(f"{Words(text)}\n{in_python(text)}\n" for text in dict.fromkeys(texts()))


def test_each_text_that_names_an_option_names_an_argument_in_python() -> None:
    assert golden() == GOLDEN.read_text("utf-8")


def test_no_option_is_left_in_pythons_wording() -> None:
    found = list(texts())
    assert len(found) > 150
    for text in found:
        said = re.sub(r"<command\(.*\)>", "COMMAND", in_python(text))  # the same in Python
        assert "--" not in said, said
        assert "same command" not in said, said


@pytest.mark.parametrize(
    ("name", "labels"), [("classify", {}), ("plan", {}), ("evaluate", {"system": "cpv"})]
)
def test_a_misspelt_column_names_the_argument_in_a_short_traceback(
    name: str, labels: dict[str, str]
) -> None:
    frame = pd.DataFrame({"title": ["Road marking"], "code": ["45233221"]})
    with pytest.raises(pipeline.InputError) as caught:
        getattr(pipeline, name)(frame, text_columns="titel", **labels)
    assert 'text_columns=["title"]' in caught.value.hint
    assert "--" not in str(caught.value)
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert names[1:] == [name]
    assert caught.value.__suppress_context__


def test_what_makes_a_model_is_a_function_in_python(tmp_path: Path) -> None:
    with pytest.raises(pipeline.SettingsError, match=r"that pipeline\.train made of .*: models="):
        pipeline.classify(["Road works"], models=tmp_path)


@pytest.mark.anyio
async def test_what_is_awaited_says_it_so_too() -> None:
    with pytest.raises(TypeError, match=r"Write csv=pipeline\.CsvOptions\(encoding=\.\.\.\)"):
        await pipeline.classify_async(["Office chairs"], encoding="cp1252")  # type: ignore[call-arg]
    with pytest.raises(pipeline.InputError) as caught:
        await pipeline.classify_async(pd.DataFrame({"title": ["x"]}), text_columns="titel")
    assert 'text_columns=["title"]' in caught.value.hint


def test_a_parked_error_keeps_what_it_knows() -> None:
    error = ParkedError(f"Over {option('max_cost')}.", f"Raise {option('max_cost')}.", 5)
    assert str(error) == "Over --max-cost. Raise --max-cost."
    assert in_python(pickle.loads(pickle.dumps(error)).hint) == "Raise max_cost."
    error = shortened(error)
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
        ("plan", "base_url", "Write service=pipeline.PaidService(base_url=...)."),
        ("evaluate", "api_key", "Write subject=pipeline.PaidService(api_key=...)."),
        ("classify", "min_confidense", "Did you mean min_confidence?"),
        ("classify", "system", "Did you mean systems?"),
        ("classify", "text_column", "Did you mean text_columns?"),
        ("train", "systems", "Did you mean system?"),
        ("evaluate", "zzz", "help(pipeline.evaluate) lists its arguments."),
        ("CsvOptions", "no_header", "Did you mean header or header_row?"),
        ("PaidService", "max_prices", "Did you mean max_price or max_cost or token_prices?"),
        ("Classifier", "model", "Did you mean models?"),
        ("spark.classify", "rate", "Write service=pipeline.PaidService(rate=...)."),
    ],
)
def test_the_error_about_a_missing_argument_says_what_to_write(
    call: str, argument: str, hint: str
) -> None:
    with pytest.raises(TypeError) as caught:
        attrgetter(call)(pipeline)(**{argument: "cp1252"})
    assert str(caught.value) == f"{call}() has no argument '{argument}'. {hint}"


def test_only_the_table_has_no_name() -> None:
    for name in ("classify", "plan", "evaluate", "train"):
        with pytest.raises(TypeError, match="Name the others, such as text_columns=") as caught:
            getattr(pipeline, name)(["Office chairs"], "title")
        assert len(caught.traceback) == 2


FRAME = pd.DataFrame({"title": ["Office chairs"], "code": ["7110"]})


def test_an_evaluation_takes_a_list_with_one_system_only() -> None:
    found = pipeline.evaluate(FRAME, system="psc", text_columns="title")
    assert found.settings.system == "psc"
    for wrong in ("psc,cpv", "", None):
        with pytest.raises(pipeline.SettingsError, match="system"):
            pipeline.evaluate(FRAME, system=wrong, text_columns="title")


OF_THE_COMMAND = {
    field.name for options in (DialectOptions, PaidOptions) for field in fields(options)
}
OF_THE_COMMAND |= {"input_paths", "output_format", "report", "metrics_file", "as_json", "quiet"}
OF_THE_COMMAND |= {"log_format"}
"""Options of `run` that are no arguments of `classify`, or those of what is passed to it."""

OF_OUTPUTS = {"output", "overwrite", "partial"}
OF_WHOLE_TABLES = {"jobs", "limit_rows", "decisions", "fail_if_no_match"}

DIFFERENT = {"jobs"}
"""On the command line, the size of the table decides how many processes there are."""


def declared(options: type) -> dict[str, Any]:
    """Return the defaults of the options that a dataclass declares."""
    stated = {each.name: each.metadata.get("option") for each in fields(options)}
    return {name: option.get("default") for name, option in stated.items() if option}


def plain(default: Any) -> Any:
    """Return a default as Python states it, and None for whatever is empty."""
    if isinstance(default, list):
        return tuple(default)
    if isinstance(default, Decimal):
        return str(default)
    return default if isinstance(default, str | int | float | tuple) and default else None


@pytest.mark.parametrize(
    ("options", "function", "lacking"),
    [
        (RunOptions, pipeline.classify, OF_THE_COMMAND),
        (RunOptions, pipeline.Classifier, OF_THE_COMMAND | OF_OUTPUTS | OF_WHOLE_TABLES),
        (
            RunOptions,
            pipeline.spark.classify,
            OF_THE_COMMAND | OF_OUTPUTS - {"partial"} | OF_WHOLE_TABLES,
        ),
        (RunOptions, Settings, OF_THE_COMMAND | OF_OUTPUTS),
        (PaidOptions, pipeline.PaidService, {"api_key_file", "yes"}),
    ],
    ids=["classify", "Classifier", "spark.classify", "Settings", "PaidService"],
)
def test_an_option_is_an_argument_with_its_default(
    options: type, function: Callable[..., Any], lacking: set[str]
) -> None:
    here, there = declared(options), signature(function).parameters
    assert {field.name for field in fields(options)} - there.keys() == lacking
    both = here.keys() & there.keys() - DIFFERENT
    assert {name: plain(here[name]) for name in both} == {
        name: plain(there[name].default) for name in both
    }


if __name__ == "__main__":
    GOLDEN.write_text(golden(), encoding="utf-8")
