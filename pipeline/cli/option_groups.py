"""Shows the many options of a command in groups; without arguments, only the ones that matter."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import IO, Any

import click

from pipeline.cli.json_errors import JsonErrors

__all__ = ["OptionGroups"]


class OptionGroups(JsonErrors):
    """A command whose help lists its options in groups.

    Args:
        args: see `click.Command`.
        groups: the names of the options in each group, in the order of the help.
        own_first: whether the options that are in no group come before the groups.
        essential: the options to show if the command is called without arguments; none if it can be
            called like that.
        attributes: see `click.Command`.
    """

    def __init__(
        self,
        *args: Any,
        groups: Mapping[str, Collection[str]],
        own_first: bool = False,
        essential: Collection[str] = (),
        **attributes: Any,
    ) -> None:
        super().__init__(*args, **attributes)
        self.groups, self.own_first, self.essential = groups, own_first, essential

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each group, and the options that are in none."""
        rows = self._rows(ctx)
        grouped = [
            (title, [rows.pop(name) for name in names]) for title, names in self.groups.items()
        ]
        own = [("Options" if self.own_first else "Other options", list(rows.values()))]
        for title, lines in own + grouped if self.own_first else grouped + own:
            with formatter.section(title):
                formatter.write_dl(lines)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments.

        Raises:
            click.UsageError: there are none, but some are needed; it shows the essential options.
        """
        if self.essential and not args and not ctx.resilient_parsing:
            raise _NoArguments(self._overview(ctx), ctx)
        return super().parse_args(ctx, args)

    def _overview(self, ctx: click.Context) -> str:
        formatter = ctx.make_formatter()
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        rows = self._rows(ctx)
        with formatter.section("The options that matter most"):
            formatter.write_dl([rows[name] for name in self.essential])
        formatter.write_paragraph()
        shown = len(self.essential)
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
