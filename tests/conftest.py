"""What every test shares: folders of its own, no time asserted, and one thread to a process."""

from __future__ import annotations

import functools
import gc
import importlib
import logging
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import is_hypothesis_test, settings
from hypothesis.strategies import characters

settings.register_profile("usual", deadline=None, max_examples=60)
settings.register_profile("long", deadline=None, max_examples=1_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "usual"))

# The workers compile the tests at the same time; what one has compiled, the others read.
sys.dont_write_bytecode = False

MEMORY = Path("/dev/shm")
"""Linux's file system in memory: a test that waits for the disk learns nothing from that."""

ENOUGH = 2 << 30
"""Free bytes that make it large enough. In many containers it has only 64 MiB."""

with suppress(OSError):
    found = os.statvfs(MEMORY)
    is_enough = found.f_bavail * found.f_frsize >= ENOUGH
    # In containers it is often mounted so that no script can be started that a test has written.
    if "TMPDIR" not in os.environ and is_enough and not found.f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)

# The workers keep the processors busy. This comes before numpy, which reads it once.
os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")

# In the background of a script, or under nohup, a process ignores these, and so would each command
# that a test starts and then interrupts. A handler ignores them, too, but is not passed on.
for number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, lambda *_: None)

TESTS = Path(__file__).parent

# Schemathesis starts in other folders and would make its own tables there.
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(TESTS.parent / ".hypothesis"))

SLOWEST = ("tests/service/test_schemathesis.py", "tests/soak/")
"""Tests that take longest: a worker begins with them, and the others take over what comes after."""


def pytest_xdist_auto_num_workers() -> int:
    """Run two workers for each processor: many tests wait for a process or a server."""
    return 2 * (os.cpu_count() or 1)


def pytest_collectstart(collector: pytest.Collector) -> None:
    """Let each worker import its share of all tests first, and so compile it for the others."""
    gc.disable()
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is None or collector.path != TESTS or collector.config.args != [TESTS.name]:
        return
    workers = int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    for path in sorted(TESTS.rglob("test_*.py"))[int(worker.removeprefix("gw")) :: workers]:
        name = path.relative_to(TESTS.parent).with_suffix("")
        with suppress(Exception, pytest.skip.Exception):  # which the collection reports
            importlib.import_module(".".join(name.parts))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the slowest tests first: if one of them began last, all other workers would wait."""
    items.sort(key=lambda item: not item.nodeid.startswith(SLOWEST))


def pytest_collection_finish() -> None:
    """Take what was collected out of the garbage collector's rounds, which it makes long."""
    gc.collect()
    gc.freeze()
    gc.enable()


@functools.cache
def table_of_unicode() -> None:
    """Have Hypothesis make its table once: in a new checkout each worker would take 4 s for it."""
    folder = Path(os.environ["XDG_CACHE_HOME"])
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "table_of_unicode.lock"):
        characters(codec="utf-8").validate()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    if isinstance(item, pytest.Function) and is_hypothesis_test(item.obj):
        table_of_unicode()


@pytest.fixture(scope="session", autouse=True)
def user_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the tests out of the user's home and folders; some files are made once for all."""
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


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run the tests marked with anyio in asyncio only: the package has no use for trio."""
    return "asyncio"


@pytest.fixture(autouse=True)
def loggers() -> Iterator[None]:
    """Take back what a command set up: its handler would write to a stream that is closed."""
    root, ours = logging.getLogger(), logging.getLogger("pipeline")
    handlers, root_level, our_level = root.handlers[:], root.level, ours.level
    yield
    root.handlers[:] = handlers
    root.setLevel(root_level)
    ours.setLevel(our_level)


@pytest.fixture
def models_of_other_codes() -> Iterator[None]:
    """Load the models anew in a test that adds a code table, and again after it."""
    from pipeline.engine.engine import ranker
    from pipeline.engine.model.loading import load_model

    for each in (ranker, load_model):
        each.cache_clear()
    yield
    for each in (ranker, load_model):
        each.cache_clear()


@pytest.fixture
def impatient() -> Iterator[None]:
    """End a test that would wait for ever, such as at a pipe."""

    def give_up(*_: object) -> None:
        raise AssertionError("it waits")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
