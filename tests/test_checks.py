from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import pipeline
from pipeline.checks import NEEDED, check_flag, check_platform, whole_number
from pipeline.errors import SettingsError


def test_whole_numbers_of_numpy_become_pythons_own() -> None:
    assert type(whole_number("top", np.int64(3), 1, 10)) is int


@pytest.mark.parametrize("value", [0, 11, 1.0, True, "3", None])
def test_a_wrong_whole_number_is_refused_with_its_bounds(value: object) -> None:
    with pytest.raises(SettingsError) as error:
        whole_number("top", value, 1, 10)
    assert error.value.message == f"--top is {value!r}."
    assert error.value.hint == "--top must be a whole number from 1 to 10."


def test_without_an_upper_bound_none_is_named() -> None:
    with pytest.raises(SettingsError, match=r"--limit-rows must be a whole number from 0\.$"):
        whole_number("limit_rows", -1, 0)


def test_a_flag_is_true_or_false() -> None:
    check_flag("wait", False)
    with pytest.raises(SettingsError, match="wait must be True or False"):
        check_flag("wait", "no")


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
