from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys

import pytest

import pipeline
from pipeline import errors


def test_every_public_name_is_there_and_documented() -> None:
    for name in pipeline.__all__:
        assert getattr(pipeline, name).__doc__


def test_every_module_says_in_its_first_line_why_it_exists() -> None:
    for module in pkgutil.walk_packages(pipeline.__path__, "pipeline."):
        if not module.name.endswith("__main__"):
            doc = importlib.import_module(module.name).__doc__
            assert doc and len(doc.splitlines()[0]) > 20, module.name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'pipeline' has no attribute 'clasify'"):
        _ = pipeline.clasify  # type: ignore[attr-defined]
    assert not hasattr(pipeline, "log")


def test_who_presses_tab_sees_the_public_names() -> None:
    importlib.import_module("pipeline.api")
    assert {*dir(pipeline)} == {*pipeline.__all__, "__version__", "spark"}


HEAVY = "print({'pandas', 'pyarrow', 'numpy', 'scipy', 'httpx', 'click'} & {*sys.modules})"
OFFLINE = "pipeline.classify(pandas.DataFrame({'description': ['chairs']}))"


@pytest.mark.parametrize(
    ("code", "printed"),
    [
        (f"import pipeline; assert 'plan' in dir(pipeline); {HEAVY}; pipeline.plan", "set()"),
        ("import pipeline; print(pipeline.spark.classify.__name__)", "classify"),
        (
            f"import pandas, pipeline; {OFFLINE}; rooms = 'pipeline.paid', 'pipeline.evaluation'; "
            "print([name for name in sys.modules if name.startswith(rooms)])",
            "[]",
        ),
        (
            "import pipeline.paid.client.client, pipeline.service.accounts; "
            "print({'starlette', 'uvicorn', 'scipy', 'pandas'} & {*sys.modules})",
            "set()",
        ),
        (
            "import pipeline.cli.commands.serve, pipeline.service.app, pipeline.service.server; "
            "print([name for name in sys.modules if name.startswith('pipeline.service.chaos')])",
            "[]",
        ),
    ],
    ids=["names", "spark", "an offline call", "accounts and client", "serve"],
)
def test_nothing_is_imported_that_is_not_needed(code: str, printed: str) -> None:
    command = [sys.executable, "-c", f"import sys; {code}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"{printed}\n"


def test_an_editor_that_reads_the_source_completes_the_public_names() -> None:
    jedi = pytest.importorskip("jedi")
    found = jedi.Script("import pipeline\npipeline.").complete(2, len("pipeline."))
    assert {*pipeline.__all__} <= {each.name for each in found}


def test_the_tree_in_the_docstring_is_the_tree_there_is() -> None:
    drawn = errors.__doc__ or ""
    for name in errors.__all__:
        assert name in drawn


def test_every_error_has_an_exit_code_and_ends_with_its_hint() -> None:
    for name in errors.__all__:
        kind = getattr(errors, name)
        assert inspect.isclass(kind) and issubclass(kind, errors.PipelineError)
        error = kind("It is broken.", "Mend it.")
        assert str(error) == "It is broken. Mend it."
        assert error.exit_code in (1, 2, 3, 7, 8)
        assert str(kind("The service says: no", "Mend it.")) == "The service says: no. Mend it."
        assert str(kind("It is broken.", "")) == "It is broken."
