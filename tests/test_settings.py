from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pipeline
from pipeline.arguments import NEEDED, check_platform
from pipeline.codes import cpv_titles, shipped, titles_in
from pipeline.errors import SettingsError
from pipeline.settings import LANGUAGES, CsvOptions, Settings, checked_language, parse_systems


@pytest.mark.parametrize(
    ("settings", "hint"),
    [
        ({"systems": ("cpvv",)}, "Choose from cpv, psc, unspsc, naics"),
        ({"systems": ()}, "Choose from"),
        ({"systems": ("cpv", "cpv")}, "Name each system once"),
        ({"text_columns": ()}, "--text-column must name the columns"),
        ({"text_columns": ("a", "a")}, "--text-column must name each column once."),
        ({"top": 0}, "from 1 to 10"),
        ({"min_confidence": 1.5}, "from 0 to 1"),
        ({"min_confidence": float("nan")}, "from 0 to 1"),
        ({"roll_up": 0}, "--roll-up must be a fraction over 0, up to 1, such as 0.8."),
        ({"roll_up": 1.1}, "a fraction over 0"),
        *(
            ({"top": wrong}, "--top must be a whole number from 1 to 10.")
            for wrong in ("3", 11, 1.0, True, None)
        ),
        ({"jobs": 1.5}, "--jobs must be a whole number from 1, or auto."),
        ({"jobs": "all"}, "or auto"),
        ({"limit_rows": 2.5}, "--limit-rows must be a whole number from 0."),
        ({"min_confidence": "0.5"}, "--min-confidence must be a fraction from 0 to 1"),
        ({"min_confidence": True}, "--min-confidence must"),
        ({"systems": None}, "systems must be a name or a list of names"),
        ({"systems": [1]}, "systems must be a name or a list of names"),
        ({"text_columns": 0}, "text_columns must be a name or a list of names, as text: '0'."),
        ({"text_columns": [0]}, "text_columns must be a name or a list of names"),
        ({"text_columns": b"text"}, "text_columns must be a name or a list of names"),
        ({"text_columns": {"title", "text"}}, "text_columns must be a list: a set has no order."),
        ({"systems": frozenset(["cpv"])}, "systems must be a list: a set has no order."),
        ({"column_prefix": None}, "--column-prefix must be text"),
        ({"column_prefix": "gr\udcf6"}, "--column-prefix must be text in UTF-8"),
    ],
)
def test_a_wrong_setting_is_refused_with_what_would_be_right(
    settings: dict[str, Any], hint: str
) -> None:
    with pytest.raises(SettingsError) as refusal:
        Settings(**settings)
    assert hint in refusal.value.hint


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({"delimiter": ""}, "one character"),
        ({"delimiter": '"'}, "one character"),
        ({"encoding": "klingon"}, "cp1252"),
        ({"encoding": "a\0"}, "cp1252"),
        ({"encoding": 8}, "cp1252"),
        ({"delimiter": 9}, "one character"),
        ({"line_end": "foo"}, "line_end must be one of lf, crlf, cr."),
        ({"quote_escape": "x"}, "quote_escape must be one of double, backslash, none."),
        ({"header": "no"}, "header must be True or False"),
    ],
)
def test_a_wrong_csv_option_is_refused(options: dict[str, Any], hint: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        CsvOptions(**options)
    assert hint in refusal.value.hint


@pytest.mark.parametrize("name", ["tab", "\\t", "\t"])
def test_tab_has_a_name(name: str) -> None:
    assert CsvOptions(delimiter=name).delimiter == "\t"


def test_numbers_of_other_libraries_become_those_of_python() -> None:
    given: dict[str, Any] = {"top": np.int8(3), "min_confidence": np.float32(0.5)}
    settings = Settings(**given)
    assert (type(settings.top), type(settings.min_confidence)) == (int, float)
    assert (settings.top, settings.min_confidence) == (3, 0.5)


def test_names_may_be_one_text_and_keep_their_order() -> None:
    given: dict[str, Any] = {"text_columns": "title", "systems": " NAICS, cpv,"}
    assert Settings(**given) == Settings(text_columns=("title",), systems=("naics", "cpv"))
    assert parse_systems(["psc", "naics,cpv"]) == ("psc", "naics", "cpv")


def test_they_are_those_of_the_shipped_titles() -> None:
    assert set(cpv_titles()) == set(LANGUAGES)
    assert titles_in("en") == shipped("cpv").titles
    assert titles_in("de")["45233140"] == "Straßenarbeiten"


@pytest.mark.parametrize("value", ["ger", "", None, 7, "deutsch"])
def test_an_unknown_one_is_refused_with_the_known_ones(value: object) -> None:
    with pytest.raises(SettingsError) as caught:
        checked_language(value)
    assert repr(value) in caught.value.message
    assert "bg, cs, da, de, el, en, es," in caught.value.hint
    assert checked_language(" DE ") == "de"


POSIX_ONLY = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}

AS_ON_WINDOWS = f"import sys; sys.modules.update(dict.fromkeys({sorted(POSIX_ONLY)}));"


def ran(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", AS_ON_WINDOWS + code], capture_output=True, text=True, check=False
    )


def imported() -> Iterator[str]:
    """Yield what those modules of the package import that mention a module of POSIX."""
    mentioned = re.compile(rf"\b({'|'.join(POSIX_ONLY)})\b")
    sources = (path.read_text("utf-8") for path in Path(pipeline.__file__).parent.rglob("*.py"))
    for source in filter(mentioned.search, sources):
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield node.module or ""


def test_the_modules_that_are_looked_for_are_those_that_are_imported() -> None:
    assert POSIX_ONLY & set(imported()) == set(NEEDED)


@pytest.mark.parametrize("missing", NEEDED)
def test_a_system_without_one_of_them_is_refused(
    monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    check_platform()
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(pipeline.SettingsError, match="such as Linux or macOS") as refusal:
        check_platform()
    assert "WSL" in refusal.value.hint


def test_the_package_can_be_imported_there_and_says_what_it_needs() -> None:
    done = ran(
        "import pipeline\n"
        "try: pipeline.classify\n"
        "except pipeline.SettingsError as error: print(error)"
    )
    assert done.stdout.startswith("tender-pipeline needs a POSIX system, such as Linux or macOS;")
    assert done.stderr == ""


def test_the_command_says_so_without_a_traceback() -> None:
    done = ran("from pipeline.cli import main; sys.argv = ['tender-pipeline', 'codes']; main()")
    assert done.returncode == 2
    assert done.stdout == ""
    first, second = done.stderr.splitlines()
    assert first.startswith("Error: tender-pipeline needs a POSIX system")
    assert "WSL" in second
