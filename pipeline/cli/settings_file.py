"""Reads settings, of a file that a person confirms and of variables, and finds the ledger."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from pipeline.cli.options import SETTINGS_FILE, LocalPath
from pipeline.errors import SettingsError, reason
from pipeline.files.paths import AnyPath, check_kept, data_folder
from pipeline.files.regular import read_toml
from pipeline.settings import KEY_VARIABLE, LEDGER_VARIABLE
from pipeline.wording import variable_name

DEFAULT_FILE = Path("tender-pipeline.toml")

FOUND = __name__
"""The key in a command's context for the path of a settings file that was found, not named."""


PREFIX, OF_THE_SERVICE = "TENDER_PIPELINE_", "TENDER_PIPELINE_SERVE_"
"""The prefixes of this tool's variables, and of those of ``serve``."""


def settings_file(context: click.Context, parameter: click.Parameter, path: Path | None) -> None:
    """Make the settings in a file the command's defaults.

    Without a path, read ``tender-pipeline.toml`` in the current folder, if there is one.

    Raises:
        SettingsError: the file cannot be read, names an unknown option, or has a wrong value.
    """
    if path is None:
        if not DEFAULT_FILE.is_file():
            return
        path = DEFAULT_FILE
        context.meta[FOUND] = path
    context.meta[SETTINGS_FILE] = path
    settings = _read(path)
    options = {
        name.removeprefix("--"): p
        for p in context.command.params
        if isinstance(p, click.Option) and p is not parameter
        for name in p.opts
    }
    defaults = {}
    for name, value in settings.items():
        option = _find_option(name, value, options, path)
        if value != "":  # unset, as in the environment
            defaults[str(option.name)] = _value(value, option, f"{path}: {name}")
    context.default_map = defaults


def _read(path: Path) -> Mapping[str, Any]:
    try:
        return read_toml(path, parse_float=str)  # exact: some are amounts of money
    except OSError as error:
        raise SettingsError(
            f"{path} cannot be read: {reason(error)}.",
            "Check that it exists and is readable.",
        ) from error
    except ValueError as error:
        raise SettingsError(
            f"{path} cannot be read: {reason(error)}.", "Write it as TOML."
        ) from error


def _find_option(
    name: str, value: Any, options: Mapping[str, click.Option], path: Path
) -> click.Option:
    option_name = name.replace("_", "-")
    if option_name in options:
        return options[option_name]
    if isinstance(value, dict):
        raise SettingsError(
            f"{path}: there is no table [{name}].",
            f"Delete the line [{name}]: all settings are at the top level of the file.",
        )
    from difflib import get_close_matches

    close = get_close_matches(option_name.casefold(), options, n=1, cutoff=0.5)
    hint = f"Did you mean {close[0]!r}?" if close else f"Choose from {', '.join(options)}."
    raise SettingsError(f"{path}: there is no setting {name!r}.", hint)


def _value(value: Any, option: click.Option, where: str) -> str | list[str]:
    """Return a value of TOML as click takes it for an option: as text, which it then checks."""
    if not option.multiple:
        return _text(value, where, option.is_flag)
    return [_text(item, where) for item in (value if isinstance(value, list) else [value])]


def _text(value: Any, where: str, is_flag: bool = False) -> str:
    """Return a value of TOML as text; "false" would be a file to an option that takes a path."""
    if isinstance(value, dict | list):
        raise SettingsError(f"{where} has several values.", "Give it one.")
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if isinstance(value, bool) and not is_flag:
        hint = "It takes no true or false: give it a value, or delete the line."
        raise SettingsError(f"{where} is {text}.", hint)
    return text


def unknown_variables(params: Iterable[click.Parameter]) -> Iterator[str]:
    """Yield a sentence about each variable of this tool that sets nothing: it may be misspelt."""
    known = {KEY_VARIABLE, f"{PREFIX}DEBUG"}
    for param in params:
        known.update([param.envvar] if isinstance(param.envvar, str) else param.envvar or ())
    ours = {name for name in os.environ if name.startswith(PREFIX)}
    for name in sorted(ours - known):
        if not name.startswith(OF_THE_SERVICE):
            from difflib import get_close_matches

            short = [name.removeprefix(PREFIX) for name in known]
            close = get_close_matches(name.removeprefix(PREFIX), short, 1)
            meant = f" Did you mean {PREFIX}{close[0]}?" if close else ""
            yield f"The variable {name} sets nothing.{meant}"


def confirm_found_file(context: click.Context) -> None:
    """Ask a person to confirm what a found settings file says of secrets and other folders.

    Somebody else may have made the folder. Their file must not send the key and the texts to an
    address of its choice, use another file as the key, or write an output outside the folder.
    ``--yes`` is about buying and does not confirm any of this.

    Raises:
        SettingsError: there is no terminal, or the answer is no.
    """
    from pipeline.cli.output.console import ask  # --help needs no log

    path = context.meta.get(FOUND)
    for says, question, option in _claims(context) if path else ():
        claimed = f"{path}, which was found in the current folder, {says}"
        if not ask(f"{claimed}.\n{question}"):
            ways = f"the variable {variable_name(option)}"
            ways = f"{option} or {ways}" if option.startswith("--") else ways
            raise SettingsError(
                f"{claimed}, and nobody has confirmed that. Nothing was sent.",
                f"If that is right, name the file (--config {path}), or use {ways}.",
            )


def note_found_file(context: click.Context) -> None:
    """Log which options a found settings file sets: nobody may remember that it is there."""
    import logging  # --help needs no log

    params = context.command.params
    options = ", ".join(param.opts[0] for param in params if _is_in_file(context, param.name))
    if options and (path := context.meta.get(FOUND)):
        words = f"{path}, found in the current folder, sets {options}"
        logging.getLogger("pipeline").info("%s", words)


def _is_in_file(context: click.Context, name: str | None) -> bool:
    return context.get_parameter_source(name or "") == ParameterSource.DEFAULT_MAP


def _claims(context: click.Context) -> Iterator[tuple[str, str, str]]:
    """Yield the settings that the maker of a folder must not choose for its user.

    Each is what the file says, the question on a terminal, and the option that says the same.
    """
    from pipeline.paid.client.urls import canonical

    def in_file(name: str) -> Any:
        """Return the value of a parameter if it comes from the file."""
        return context.params[name] if _is_in_file(context, name) else None

    address, chat = context.params["base_url"], bool(context.params["language_model"])
    if in_file("base_url"):
        says = f"names the paid service {canonical(address, chat)}"
        yield says, "Send the texts and your API key there?", "--base-url"
    if address and (key_file := in_file("api_key_file")):
        says = f"names the file of the API key, {str(key_file)!r}"
        yield says, f"Send its content to {canonical(address, chat)}?", "--api-key-file"
    if prices := in_file("token_prices"):
        says = f"says that tokens cost {str(prices)!r}"
        yield says, "Count costs, and keep limits, with these prices?", "--token-prices"
    for option in ("--output", "--report", "metrics-file"):
        path = in_file(option.removeprefix("--").replace("-", "_"))
        what = option.removeprefix("--").removesuffix("-file")
        if path and not _is_inside(path):
            says = f"puts the {what} outside of it, at {str(path)!r}"
            yield says, f"Write the {what} there?", option


def _is_inside(output: AnyPath) -> bool:
    """Return whether a path is in the current folder."""
    return isinstance(output, Path) and output.resolve().is_relative_to(Path.cwd().resolve())


def ledger_file(path: Path | None) -> Path:
    """Return the ledger that ``run`` would use here, unless a path is given."""
    return path or _in_settings_file() or data_folder() / "ledger.db"


def _in_settings_file() -> Path | None:
    if not DEFAULT_FILE.is_file():
        return None
    text = _text(_read(DEFAULT_FILE).get("ledger", ""), f"{DEFAULT_FILE}: ledger")
    return Path(text) if text else None


on_ledger = click.option(
    "--ledger",
    "path",
    envvar=LEDGER_VARIABLE,
    type=LocalPath(path_type=Path),
    callback=lambda _context, _option, path: ledger_file(path),
    help="The ledger.  [default: the settings file's, or the one in your data folder]",
)


def check_apart(
    written: Mapping[str, AnyPath | None],
    kept: Sequence[tuple[str, AnyPath | None]],
    ledger: Path | None,
) -> None:
    """Check what a command writes as `check_kept` does; the settings file is kept, too."""
    settings_file = click.get_current_context().meta.get(SETTINGS_FILE)
    kept_ledger = None
    with suppress(SettingsError):  # a user without a home folder has no ledger there
        kept_ledger = ledger_file(ledger)
    check_kept(written, [*kept, ("the settings file", settings_file)], kept_ledger)
