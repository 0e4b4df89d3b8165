"""Parses the arguments of a command without running it."""

from __future__ import annotations

import click


def parse(command: click.Command, arguments: list[str], parent: click.Context | None) -> None:
    """Parse the arguments of a command or of its subcommand; wrong ones raise click's error."""
    if isinstance(command, click.Group) and arguments:
        context = click.Context(command, parent, command.name)
        child = command.get_command(context, arguments[0])
        assert child is not None, arguments
        parse(child, arguments[1:], context)
    else:
        command.make_context(command.name, list(arguments), parent=parent)
