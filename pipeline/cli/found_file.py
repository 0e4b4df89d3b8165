"""What a settings file may not decide alone if nobody named it: it came with the folder."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
from click.core import ParameterSource

from pipeline.errors import SettingsError
from pipeline.paid.client.urls import canonical

__all__ = ["confirm_found_file", "note_found_file"]

FOUND = __name__
"""Where a command's context keeps the path of a settings file that was found, not named."""


@dataclass(frozen=True, slots=True)
class _Claim:
    """A setting that must not be chosen by somebody who only made the folder.

    Attributes:
        said: what the file says.
        question: what is asked on a terminal.
        option: the option that says the same.
    """

    said: str
    question: str
    option: str


def note_found_file(context: click.Context, path: Path) -> None:
    """Note that a command's settings come from a file that was found, not named."""
    context.meta[FOUND] = path


def confirm_found_file(context: click.Context) -> None:
    """Have a person confirm what a found settings file says of secrets, and of other folders.

    Somebody else may have made the folder. Their file must not send the key and the texts to an
    address of its choice, take another file for the key, or write an output outside the folder.
    ``--yes`` is about buying, and confirms nothing of it.

    Raises:
        SettingsError: nobody can be asked, or the answer is no.
    """
    path = context.meta.get(FOUND)
    for claim in _claims(context) if path else ():
        said = f"{path}, which was found in the current folder, {claim.said}"
        if not (_on_terminal() and click.confirm(f"{said}.\n{claim.question}", err=True)):
            variable = claim.option.removeprefix("--").replace("-", "_").upper()
            raise SettingsError(
                f"{said}, and nobody has confirmed that. Nothing was sent.",
                f"If that is right, name the file (--config {path}), or say the same with "
                f"{claim.option} or the variable TENDER_PIPELINE_{variable}.",
            )


def _claims(context: click.Context) -> Iterator[_Claim]:
    address, key_file, output = (
        context.params[name] for name in ("base_url", "api_key_file", "output")
    )
    if address and _in_file(context, "base_url"):
        said = f"names the paid service {canonical(address)}"
        yield _Claim(said, "Send the texts and your API key there?", "--base-url")
    if address and key_file and _in_file(context, "api_key_file"):
        said = f"names the file of the API key, {str(key_file)!r}"
        yield _Claim(said, f"Send its content to {canonical(address)}?", "--api-key-file")
    if output and _in_file(context, "output") and not _inside(output):
        said = f"puts the output outside of it, at {str(output)!r}"
        yield _Claim(said, "Write it there?", "--output")


def _in_file(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) == ParameterSource.DEFAULT_MAP


def _inside(path: Path) -> bool:
    return path.resolve().is_relative_to(Path.cwd().resolve())


def _on_terminal() -> bool:
    streams = (sys.stdin, sys.stderr)
    return all(stream is not None and stream.isatty() for stream in streams)
