"""Shows the many options of a command in groups; without arguments, only the ones that matter."""

from __future__ import annotations

from typing import IO, Any

import click

from pipeline.cli.json_errors import JsonErrors
from pipeline.cli.options import DeclaredOption, parameters

__all__ = ["OptionGroups"]


GROUPS = ("Table", "Answer", "Embedded engine", "Paid service", "Output")
"""The groups of options, in the order of the help."""


class OptionGroups(JsonErrors):
    """A command whose help lists its options in groups.

    Args:
        args: see `click.Command`.
        options: the dataclass whose fields declare its options; see `pipeline.cli.options`.
        attributes: see `click.Command`.
    """

    def __init__(self, *args: Any, options: type | None = None, **attributes: Any) -> None:
        if options is not None:
            attributes["params"] = parameters(options)
        super().__init__(*args, **attributes)

    @property
    def groups(self) -> dict[str, list[DeclaredOption]]:
        """The options of each group, in the order of the help; those of "" are in none."""
        declared = [each for each in self.params if isinstance(each, DeclaredOption)]
        found = {name: [each for each in declared if each.group == name] for name in ("", *GROUPS)}
        return {name: options for name, options in found.items() if options}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each group, and the options that are in none: a command's own before, if any."""
        rows = self._rows(ctx)
        grouped = [
            (title, [rows.pop(each.opts[0]) for each in options])
            for title, options in self.groups.items()
            if title
        ]
        has_own = "" in self.groups
        own = [("Options" if has_own else "Other options", list(rows.values()))]
        for title, lines in own + grouped if has_own else grouped + own:
            with formatter.section(title):
                formatter.write_dl(lines)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments.

        Raises:
            click.UsageError: there are none, but some are needed; it shows the essential options.
        """
        if self._essential() and not args and not ctx.resilient_parsing:
            raise _NoArguments(self._overview(ctx), ctx)
        return super().parse_args(ctx, args)

    def _essential(self) -> list[str]:
        """Return the options to show if the command is called without arguments."""
        if not any(isinstance(each, click.Argument) and each.required for each in self.params):
            return []
        return [
            each.opts[0] for options in self.groups.values() for each in options if each.essential
        ]

    def _overview(self, ctx: click.Context) -> str:
        formatter = ctx.make_formatter()
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        rows = self._rows(ctx)
        with formatter.section("The options that matter most"):
            formatter.write_dl([rows[name] for name in self._essential()])
        formatter.write_paragraph()
        shown = len(self._essential())
        formatter.write_text(f"{len(rows) - shown} more options: {ctx.command_path} --help")
        return formatter.getvalue()

    def _rows(self, ctx: click.Context) -> dict[str, tuple[str, str]]:
        """Return the lines of the options' help by name."""
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        records = {option.opts[0]: option.get_help_record(ctx) for option in options}
        return {name: record for name, record in records.items() if record}


class _NoArguments(click.UsageError):
    """The command was called without arguments."""

    def __init__(self, overview: str, ctx: click.Context) -> None:
        super().__init__("Missing argument 'INPUT'.", ctx)
        self._overview = overview

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the overview, then the message."""
        click.echo(f"{self._overview}\nError: {self.message}", file=file, err=True)
