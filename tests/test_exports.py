from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys

import pytest

import pipeline


def test_the_public_names_are_these() -> None:
    assert sorted(pipeline.__all__) == [
        "Classifier",
        "CodeTableError",
        "CsvOptions",
        "EngineError",
        "Estimate",
        "Evaluation",
        "ExcelOptions",
        "FileOutcome",
        "InputChangedError",
        "InputError",
        "LedgerError",
        "NoMatchError",
        "OutputError",
        "Paid",
        "PaidService",
        "Parked",
        "ParkedError",
        "PipelineError",
        "Plan",
        "Result",
        "SYSTEMS",
        "SettingsError",
        "Summary",
        "SystemSummary",
        "TrainedModel",
        "TrainedSystem",
        "classify",
        "classify_async",
        "classify_files",
        "code_table",
        "evaluate",
        "plan",
        "train",
    ]


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


HEAVY = "{'pandas', 'pyarrow', 'numpy', 'scipy', 'httpx', 'click'} & set(sys.modules)"


def test_the_names_are_there_before_what_they_need_is_imported() -> None:
    code = f"import pipeline, sys; assert 'plan' in dir(pipeline); print({HEAVY}, pipeline.plan)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("set() <function plan")


def test_who_presses_tab_sees_the_public_names() -> None:
    importlib.import_module("pipeline.api")
    assert {*dir(pipeline)} == {*pipeline.__all__, "__version__", "spark"}


def test_spark_is_there_without_an_import_of_its_own() -> None:
    code = "import pipeline; print(pipeline.spark.classify.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "classify\n"


def test_a_run_from_csv_to_csv_imports_nothing_for_other_jobs() -> None:
    heavy = "{'pandas', 'scipy', 'httpx', 'pyarrow.compute'}"
    formats = "{'pipeline.tables.' + name for name in ('json_reader', 'ocds', 'xlsx_reader')}"
    code = (
        f"import sys, pipeline.cli.job, pipeline.cli.many\n"
        f"print(({heavy} | {formats}) & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_an_offline_call_imports_nothing_that_buys_or_evaluates() -> None:
    code = (
        "import sys, pandas, pipeline\n"
        "pipeline.classify(pandas.DataFrame({'description': ['chairs']}), engine='lexical')\n"
        "rooms = ('pipeline.paid', 'pipeline.evaluation')\n"
        "print([name for name in sys.modules if name.startswith(rooms)])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_accounts_and_the_client_need_no_engine_and_no_server() -> None:
    heavy = "{'starlette', 'uvicorn', 'scipy', 'pandas'} & set(sys.modules)"
    needed = "import pipeline.paid.client.client; from pipeline.service.accounts import Accounts"
    code = f"import sys; {needed}; print({heavy}, Accounts.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set() Accounts\n"


def test_serving_without_faults_does_not_load_chaos() -> None:
    code = (
        "import sys, pipeline.cli.commands.serve, pipeline.service.app, pipeline.service.server\n"
        "print([name for name in sys.modules if name.startswith('pipeline.service.chaos')])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_an_editor_that_reads_the_source_completes_the_public_names() -> None:
    jedi = pytest.importorskip("jedi")
    found = jedi.Script("import pipeline\npipeline.").complete(2, len("pipeline."))
    assert {*pipeline.__all__} <= {each.name for each in found}
