"""Asks a person to confirm a settings file that was found and not named."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from pipeline.cli.settings_file import FOUND
from pipeline.errors import SettingsError
from pipeline.files.paths import AnyPath

__all__ = ["confirm_found_file"]


@dataclass(frozen=True, slots=True)
class _Claim:
    """A setting that the maker of a folder must not choose for its user.

    Attributes:
        says: what the file says.
        question: the question on a terminal.
        option: the option that says the same.
    """

    says: str
    question: str
    option: str


def confirm_found_file(context: click.Context) -> None:
    """Ask a person to confirm what a found settings file says of secrets and other folders.

    Somebody else may have made the folder. Their file must not send the key and the texts to an
    address of its choice, use another file as the key, or write an output outside the folder.
    ``--yes`` is about buying and does not confirm any of this.

    Raises:
        SettingsError: there is no terminal, or the answer is no.
    """
    from pipeline.cli.output.console import on_terminal  # --help needs no log

    path = context.meta.get(FOUND)
    for claim in _claims(context) if path else ():
        claimed = f"{path}, which was found in the current folder, {claim.says}"
        if not (on_terminal() and click.confirm(f"{claimed}.\n{claim.question}", err=True)):
            variable = claim.option.removeprefix("--").replace("-", "_").upper()
            raise SettingsError(
                f"{claimed}, and nobody has confirmed that. Nothing was sent.",
                f"If that is right, name the file (--config {path}), or use {claim.option} or the "
                f"variable TENDER_PIPELINE_{variable}.",
            )


def _claims(context: click.Context) -> Iterator[_Claim]:
    from pipeline.paid.client.urls import canonical

    def in_file(name: str) -> Any:
        """Return the value of a parameter if it comes from the file."""
        from_file = context.get_parameter_source(name) == ParameterSource.DEFAULT_MAP
        return context.params[name] if from_file else None

    address = context.params["base_url"]
    if in_file("base_url"):
        says = f"names the paid service {canonical(address)}"
        yield _Claim(says, "Send the texts and your API key there?", "--base-url")
    if address and (key_file := in_file("api_key_file")):
        says = f"names the file of the API key, {str(key_file)!r}"
        yield _Claim(says, f"Send its content to {canonical(address)}?", "--api-key-file")
    if endpoint := in_file("endpoint_url"):
        says = f"names the S3-compatible server {str(endpoint)!r}"
        yield _Claim(says, "Send your tables and signed requests there?", "--endpoint-url")
    for name, what in (("output", "output"), ("report", "report"), ("metrics_file", "metrics")):
        path = in_file(name)
        if path and not _is_inside(path):
            says = f"puts the {what} outside of it, at {str(path)!r}"
            yield _Claim(says, f"Write the {what} there?", f"--{name.replace('_', '-')}")


def _is_inside(output: AnyPath) -> bool:
    """Return whether a path is in the current folder."""
    return isinstance(output, Path) and output.resolve().is_relative_to(Path.cwd().resolve())
