"""Says where a setting comes from, and which variables set nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import click

from pipeline.cli.options import origin_of
from pipeline.errors import InputError, SettingsError
from pipeline.settings import KEY_VARIABLE

__all__ = ["places_named", "unknown_variables"]

PREFIX, OF_THE_SERVICE = "TENDER_PIPELINE_", "TENDER_PIPELINE_SERVE_"
"""The prefixes of this tool's variables, and of those of ``serve``."""


@contextmanager
def places_named(context: click.Context) -> Iterator[None]:
    """Add to an error about options where each was set, if it was not on the command line.

    Raises:
        PipelineError: the error, with a longer hint.
    """
    try:
        yield
    except (SettingsError, InputError) as error:
        error.hint = " ".join([error.hint, *_places(context, str(error))])
        raise


def _places(context: click.Context, message: str) -> Iterator[str]:
    """Yield a sentence about each option in an error that a file or a variable set."""
    mentioned = set(re.findall(r"--[a-z][a-z-]+", message))
    for each in context.command.params:
        for option in mentioned.intersection(each.opts):
            if (origin := origin_of(context, each)) and origin not in message:
                yield f"{option} comes from {origin}."


def unknown_variables(params: Iterable[click.Parameter]) -> Iterator[str]:
    """Yield a sentence about each variable of this tool that sets nothing: it may be misspelt.

    Args:
        params: the options of a run.
    """
    known = {KEY_VARIABLE, f"{PREFIX}DEBUG"}
    for each in params:
        known.update([each.envvar] if isinstance(each.envvar, str) else each.envvar or ())
    for name in sorted(os.environ):
        if not name.startswith(PREFIX):
            continue
        if name not in known and not name.startswith(OF_THE_SERVICE):
            yield f"The variable {name} sets nothing.{_meant(name, known)}"


def _meant(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    short = [each.removeprefix(PREFIX) for each in known]
    close = get_close_matches(name.removeprefix(PREFIX), short, 1)
    return f" Did you mean {PREFIX}{close[0]}?" if close else ""
