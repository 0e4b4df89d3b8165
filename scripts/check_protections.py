"""Remove every protection, one at a time, and require that the test named for it fails.

    python scripts/check_protections.py [NAME]...

works on copies of the tree. `scripts/protections` lists the protections: a piece of the package's
source, and what replaces it. The piece must occur in the package exactly once, in whichever file.
The test must pass on the tree as it is and fail without the protection, so this finds tests that
cannot fail and protections that nothing tests. Without names, all protections are tried.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from compileall import compile_dir
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from py_compile import PycInvalidationMode
from queue import SimpleQueue

import pytest
from protections import PROTECTIONS, Protection

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("pipeline", "tests", "pyproject.toml")
PATIENCE_S = 120
"""A test that takes longer than this is no test that fails."""

PLAIN = ("-q", "-x", "-n", "0", "-p", "no:cacheprovider")
"""One process, without workers of its own: several run at a time."""

FORKED = ("-W", "ignore::pytest.PytestAssertRewriteWarning")
"""The libraries are imported before pytest can rewrite their assertions, which are not ours."""

FORKING = multiprocessing.get_context("forkserver")
"""Each run forks a process that has the libraries: importing them takes longer than most tests."""

LIBRARIES = """
    aiohttp argon2 httpx hypothesis jinja2 loky pandas pyarrow.dataset
    pyarrow.parquet pytest scipy.sparse starlette.applications uvicorn
"""
FORKING.set_forkserver_preload(LIBRARIES.split())

FAILED = 1
"""The exit code of pytest when tests ran and some failed."""


class UntriableError(Exception):
    """The source of a protection does not occur exactly once, or its test does not pass."""


@dataclass(frozen=True)
class Verdict:
    """How a test ended without its protection.

    Attributes:
        caught: whether it failed, as it must.
        said: how it ended, in words.
        seconds: how long it took.
    """

    caught: bool
    said: str
    seconds: float


class Copy:
    """A copy of the tree in which protections are removed and put back."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._said = folder.with_suffix(".txt")
        ignored = shutil.ignore_patterns("__pycache__")
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, folder / name, ignore=ignored)
            else:
                shutil.copy2(source, folder / name)
        for name in ("pipeline", "tests"):
            # By time and size alone, as is usual, some replacements would not be noticed.
            compile_dir(folder / name, quiet=1, invalidation_mode=PycInvalidationMode.CHECKED_HASH)

    def tests(self, *tests: str) -> int:
        """Run tests here and return pytest's exit code; a process that crashes has a negative one.

        Raises:
            TimeoutError: they do not end in time.
        """
        process = FORKING.Process(target=_run, args=(self._folder, self._said, tests))
        process.start()
        process.join(PATIENCE_S * len(tests))
        if process.exitcode is None:
            process.kill()
            process.join()
            raise TimeoutError
        return process.exitcode

    def cleaned(self) -> str:
        """Return what the last run printed."""
        return self._said.read_text("utf-8")

    def try_without(self, protection: Protection) -> Verdict:
        """Remove a protection, run its test, and put the protection back."""
        started = time.monotonic()
        with self._without(protection):
            try:
                code = self.tests(protection.test)
            except TimeoutError:
                return Verdict(False, "the test does not end", time.monotonic() - started)
        caught = code == FAILED or code < 0
        said = "caught" if caught else "NOT CAUGHT" if code == 0 else f"pytest exits with {code}"
        return Verdict(caught, said, time.monotonic() - started)

    @contextmanager
    def _without(self, protection: Protection) -> Iterator[None]:
        file = self._folder / place(protection)
        whole = file.read_text("utf-8")
        file.write_text(whole.replace(protection.intact, protection.without), "utf-8")
        try:
            yield
        finally:
            file.write_text(whole, "utf-8")


def _run(folder: Path, said: Path, tests: Sequence[str]) -> None:
    """Run tests in a process of their own."""
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    os.environ |= {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": ""}
    sys.dont_write_bytecode = False  # each run needs what the first one compiled
    with said.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    sys.exit(pytest.main([*PLAIN, *FORKED, *tests]))


def place(protection: Protection) -> Path:
    """Return the file of the package, relative to the root, that has the source of a protection.

    Raises:
        UntriableError: no file has it, or it occurs more than once.
    """
    counts = {
        path.relative_to(ROOT): path.read_text("utf-8").count(protection.intact)
        for path in sorted((ROOT / "pipeline").rglob("*.py"))
    }
    found = {path: count for path, count in counts.items() if count}
    if list(found.values()) != [1]:
        where = ", ".join(f"{count} times in {path}" for path, count in found.items())
        raise UntriableError(
            f"{protection.name}: its source occurs {where or 'nowhere'}, and must occur once "
            f"in the package. Bring scripts/protections up to date:\n{protection.intact}"
        )
    return next(iter(found))


def check(protections: Sequence[Protection], jobs: int) -> list[Protection]:
    """Try protections, several at a time; print each result and return those that no test misses.

    Raises:
        UntriableError: the source of one is missing, or a test fails on the tree as it is.
    """
    for protection in protections:
        place(protection)
    with tempfile.TemporaryDirectory(prefix="protections-") as name:
        copies: SimpleQueue[Copy] = SimpleQueue()
        for number in range(jobs):
            copies.put(Copy(Path(name) / str(number)))

        with ThreadPoolExecutor(jobs) as pool:
            tests = sorted({protection.test for protection in protections})
            parts = [tests[number::jobs] for number in range(min(jobs, len(tests)))]
            list(pool.map(partial(_require_that_they_pass, copies), parts))
            verdicts = pool.map(partial(_try_without, copies), protections)
            pairs = zip(protections, verdicts, strict=True)
            return [each for each, verdict in pairs if not _reported(each, verdict)]


@contextmanager
def _one_of(copies: SimpleQueue[Copy]) -> Iterator[Copy]:
    copy = copies.get()
    try:
        yield copy
    finally:
        copies.put(copy)


def _try_without(copies: SimpleQueue[Copy], protection: Protection) -> Verdict:
    with _one_of(copies) as copy:
        return copy.try_without(protection)


def _require_that_they_pass(copies: SimpleQueue[Copy], tests: Sequence[str]) -> None:
    with _one_of(copies) as copy:
        if copy.tests(*tests):
            raise UntriableError(f"These tests fail on the tree as it is:\n{copy.cleaned()}")


def _reported(protection: Protection, verdict: Verdict) -> bool:
    print(f"{verdict.said:<11} {verdict.seconds:5.1f} s  {protection.name}", flush=True)
    if not verdict.caught:
        print(f"{'':21}{protection.test} should fail without\n{protection.intact}")
    return verdict.caught


def main() -> int:
    """Try the named protections, or all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="parts of the names of those to try")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="tried at a time")
    options = parser.parse_args()
    wanted = [
        each
        for each in PROTECTIONS
        if not options.names or any(name in each.name for name in options.names)
    ]
    started = time.monotonic()
    try:
        missed = check(wanted, options.jobs)
    except UntriableError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{len(wanted) - len(missed)} of {len(wanted)} protections are tested "
          f"({time.monotonic() - started:.0f} s)")  # fmt: skip
    return 1 if missed or not wanted else 0


if __name__ == "__main__":
    sys.exit(main())
