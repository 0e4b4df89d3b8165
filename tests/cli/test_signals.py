"""Signals and Ctrl-C: each ends the process with its code, or is ignored as asked."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.forking import Process

INTERRUPTED_IMPORT = """
import os, signal, sys
import pipeline.cli

class Interrupt:
    def find_spec(self, name, *more):
        if name == INTERRUPTED:
            os.kill(os.getpid(), signal.SIGINT)

INTERRUPTED = sys.argv.pop()
sys.meta_path.insert(0, Interrupt())
pipeline.cli.main()
"""


@pytest.mark.parametrize(
    ("command", "module"),
    [
        ("run in.csv", "click"),
        ("run in.csv", "pipeline.cli.app"),
        ("run in.csv", "pipeline.cli.commands.run"),
        ("run in.csv", "pyarrow"),
        ("serve", "pipeline.service.app"),
    ],
)
def test_an_interrupt_while_something_is_imported_ends_the_process_at_once(
    command: str, module: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IMPORT, *command.split(), module],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr.strip()) == (130, "Interrupted.")


IN_IMPORTLIB = """
import importlib, os, signal, time
from pipeline.cli.process import listen
listen()
locking = "os.kill(os.getpid(), signal.SIGTERM); print('lock released')"
exec(compile(locking, importlib._bootstrap._find_and_load.__code__.co_filename, "exec"))
time.sleep(60)
print("still running")
"""


def test_a_signal_while_a_lock_of_imports_is_taken_ends_the_process_when_it_is_released() -> None:
    command = [sys.executable, "-c", IN_IMPORTLIB]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (143, "lock released\n")


def test_an_interrupt_that_is_ignored_stays_ignored_while_something_is_imported() -> None:
    code = f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n{INTERRUPTED_IMPORT}"
    command = [sys.executable, "-c", code, "--version", "pipeline.cli.app"]
    assert subprocess.run(command, capture_output=True, check=True).stdout


def test_an_interrupt_after_the_end_does_not_change_the_exit_code(tmp_path: Path) -> None:
    code = (
        "import atexit, os, signal, pipeline.cli\n"
        "class Last:\n"
        "    def __del__(self, kill=os.kill, me=os.getpid()): kill(me, signal.SIGINT)\n"
        "last = Last()\n"
        "pipeline.cli.main()"
    )
    command = [sys.executable, "-c", code, "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_nohup_is_respected() -> None:
    code = (
        "import signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN); sys.argv[1:] = ['-h'];"
        "import atexit; atexit.register(lambda: print(signal.getsignal(signal.SIGHUP).name));"
        "from pipeline.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "SIG_IGN"


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [
        (signal.SIGINT, 130, b"Interrupted; no output was written.\n"),
        (signal.SIGTERM, 143, b"Terminated; no output was written.\n"),
        (signal.SIGHUP, 129, b"Hung up; no output was written.\n"),
    ],
)
def test_a_signal_ends_the_run_with_its_code_and_no_litter(
    tmp_path: Path, number: signal.Signals, code: int, said: bytes
) -> None:
    source = tmp_path / "many.csv"
    rows = "".join(f"{i},Road marking and traffic signs lot {i}\n" for i in range(200_000))
    source.write_text("id,description\n" + rows)
    process = Process(
        ["run", source, "--systems", "naics"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    outputs = tmp_path / "outputs"
    while not (outputs.is_dir() and any(each.stat().st_size for each in outputs.iterdir())):
        assert process.poll() is None
        time.sleep(0.01)  # until the real process is in the middle of its work
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert err.endswith(said)
    assert b"Traceback" not in err
    assert list(outputs.iterdir()) == []
