"""The versions of the tool and of its libraries."""

from __future__ import annotations

from importlib.metadata import version

import pipeline
from pipeline import versions


def test_the_package_knows_its_version() -> None:
    assert pipeline.__version__ == version("tender-pipeline")
    assert "__version__" in dir(pipeline)


def test_a_library_that_is_not_installed_as_a_package_does_not_lose_the_job() -> None:
    assert versions._version("not-installed-as-a-package") == "unknown"
