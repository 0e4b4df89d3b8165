"""The command line: from arguments to settings, to a job, to an exit code."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Sequence

from pipeline.cli.process import ENDED, leaving_at_once, listen, open_streams

DEBUG_VARIABLE = "TENDER_PIPELINE_DEBUG"

ALLOCATIONS = 100_000
"""How many objects are allocated before the cyclic garbage collector runs: more than a short run
allocates. By default it runs after 700, again and again over imports and kept answers, which have
no cycles."""


def program() -> None:
    """Run the command line as a process of its own."""
    open_streams()
    atexit.register(gc.freeze)  # to look for cycles among all objects again would take 0.05 s
    main()


def main() -> None:
    """Run the command line and exit with its code."""
    gc.set_threshold(ALLOCATIONS)
    with leaving_at_once():
        _check_platform()
        from pipeline.cli.app import app
    args, debug = _without_debug(sys.argv[1:])
    try:
        listen()
        code = app(args, prog_name="tender-pipeline", standalone_mode=False)
    except SystemExit as stop:
        code = stop.code
        if code in ENDED:
            code = _print_end(stop)
    except BaseException as error:
        if debug:
            sys.excepthook(type(error), error, error.__traceback__)
        code = _print_end(error)
    sys.exit(code)


def _without_debug(args: Sequence[str]) -> tuple[list[str], bool]:
    """Return the arguments without ``--debug``, which may be anywhere, and whether it was there."""
    end = args.index("--") if "--" in args else len(args)
    other_args = [arg for arg in args[:end] if arg != "--debug"]
    variable = os.environ.get(DEBUG_VARIABLE, "").strip().lower() in ("1", "true", "yes", "on")
    return [*other_args, *args[end:]], variable or len(other_args) < end


def _print_end(error: BaseException) -> int:
    from pipeline.cli.output.console import print_end  # most commands end without an error

    return print_end(error)


def _check_platform() -> None:
    """Exit before importing modules that an unsupported system lacks."""
    from pipeline.arguments import check_platform
    from pipeline.errors import PipelineError

    try:
        check_platform()
    except PipelineError as error:
        sys.stderr.write(f"Error: {error.message}\n{error.hint}\n")
        sys.exit(error.exit_code)
