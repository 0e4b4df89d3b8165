"""The commands, their arguments and options, as Click knows them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

from generated.markdown import block
from pipeline.cli.app import COMMANDS, app
from pipeline.cli.options import DeclaredOption

__all__ = ["all_commands", "commands", "option_names"]

DEFAULT_IN_HELP = re.compile(r"\s*\[default: (.+?)\]$")
NAMES_OF_OPTIONS = re.compile(r"(?<![\w`-])(--?[a-z][a-z-]*)(?![\w`])")
VARIABLES = re.compile(r"(TENDER_PIPELINE_[A-Z_]+)")


def commands() -> str:
    """Describe every command with every option."""
    return "\n\n".join(_section(*found) for found in all_commands())


def all_commands() -> Iterator[tuple[str, click.Command, click.Context]]:
    """Yield each command with its full name, groups before their commands."""
    top = click.Context(app, info_name="tender-pipeline")
    for name in COMMANDS:
        command = app.get_command(top, name)
        if command is not None:
            yield from _with_children(name, command, top)


def _with_children(
    name: str, command: click.Command, parent: click.Context
) -> Iterator[tuple[str, click.Command, click.Context]]:
    context = click.Context(command, parent, name.rpartition(" ")[2])
    yield name, command, context
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            if found is not None:
                yield from _with_children(f"{name} {child}", found, context)


def option_names(option: click.Option) -> str:
    """Return an option as a user types it, with its value."""
    if isinstance(option, DeclaredOption) and option.is_setting:
        taken = "true" if option.is_flag else option.metavar or _taken(option)
        return f"{option.envvar}={taken}"
    names = ", ".join(sorted(option.opts, key=len, reverse=True))
    taken = "" if option.is_flag else f" {option.metavar or _taken(option)}"
    return names + taken


def _section(name: str, command: click.Command, context: click.Context) -> str:
    marks = "##" if " " not in name else "###"
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    options = [each for each in command.params if isinstance(each, click.Option)]
    parts = [
        f"{marks} {name}",
        _plain(inspect.cleandoc(command.help or command.short_help or "")),
        block("text", usage),
        "\n".join(_described(option, name) for option in options),
    ]
    return "\n\n".join(filter(None, parts))


def _described(option: click.Option, command: str) -> str:
    """Return an item of a list."""
    meaning, default = _meaning(option)
    notes = [_plain(meaning)]
    if default:
        notes.append(f"Default: {default}.")
    if option.required:
        notes.append("Required.")
    if option.multiple:
        notes.append("May be given several times.")
    if isinstance(option, DeclaredOption) and option.is_setting:
        notes.append("There is no option for this setting.")
    if variable := _variable(option, command):
        notes.append(f"Variable: `{variable}`.")
    return f"- `{option_names(option)}`: {' '.join(notes)}"


def _meaning(option: click.Option) -> tuple[str, str]:
    """Return an option's help text, with its default unless the text states it."""
    said = " ".join((option.help or "").split())
    if found := DEFAULT_IN_HELP.search(said):
        return said[: found.start()], _plain(found[1])
    default = option.to_info_dict()["default"]
    if isinstance(default, list | tuple):
        default = ",".join(map(str, default))
    if isinstance(default, bool) or not isinstance(default, str | int | float) or default == "":
        return said, ""
    return said, f"`{default}`"


def _variable(option: click.Option, command: str) -> str:
    if option.envvar:
        return str(option.envvar)
    if command == "serve" and option.name:
        return f"TENDER_PIPELINE_SERVE_{option.name.upper()}"
    return ""


def _taken(option: click.Option) -> str:
    if isinstance(option.type, click.Choice):
        return "|".join(map(str, option.type.choices))
    kinds = {"integer": "N", "integer range": "N", "float": "X", "float range": "X", "path": "PATH"}
    return kinds.get(option.type.name, option.type.name.upper())


def _plain(text: str) -> str:
    """Mark the names of options and variables in a help text as code."""
    text = VARIABLES.sub(r"`\1`", text.replace("<", "&lt;"))
    return NAMES_OF_OPTIONS.sub(r"`\1`", text)
