"""What every test shares: folders of its own, no time asserted, and one thread to a process."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# A worker runs on each processor already. This comes before numpy, which reads it once.
os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")

LONGEST = (
    "tests/service/test_schemathesis.py",
    "tests/soak/",
    "tests/service/rehearsal/",
    "tests/service/browser/",
    "tests/test_notebook.py",
    "tests/test_secrets.py",
    "tests/cli/",
    "tests/service/test_lifecycle.py",
    "tests/paid/",
)
"""What is begun first, so that the workers end together."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))


@pytest.fixture(scope="session", autouse=True)
def user_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the tests out of the user's home and folders; an index is built once for all workers."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
            patch.setenv(name, str(tmp_path_factory.mktemp(name.lower())))
        patch.setenv("XDG_CACHE_HOME", str(shared / "xdg_cache_home"))
        # Else each of the many processes that tests start compiles the package anew.
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        yield


@pytest.fixture(autouse=True)
def root_logger() -> Iterator[None]:
    """Take back what a command set up: its handler would write to a stream that is closed."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
