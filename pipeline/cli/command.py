"""A command of many options: shown in groups, and with ``--json``, errors as JSON objects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import click

from pipeline.cli.options import DeclaredOption, add_origins
from pipeline.cli.process import ENDED
from pipeline.errors import InputError, OutputError, SettingsError


class JsonErrors(click.Command):
    """A command that prints its errors as JSON if asked with ``--json``, and then raises them.

    They go to standard output, or to standard error if the table goes to standard output.
    """

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Read the arguments; if one is wrong, the others are not known yet."""
        with _printing_json("--json" in args, "-" in args):
            return super().make_context(info_name, args, parent, **extra)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; an error about them knows its command, whose help it names."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an error about options says where each was set."""
        with _printing_json(ctx.params.get("as_json", False), self.table_goes_to_stdout(ctx)):
            try:
                return super().invoke(ctx)
            except (SettingsError, InputError) as error:
                add_origins(ctx, error)
                raise

    def table_goes_to_stdout(self, ctx: click.Context) -> bool:  # noqa: ARG002 - most write none
        """Return whether the command writes a table there."""
        return False


class CommandGroup(click.Group):
    """Commands that print errors as JSON if asked."""

    command_class = JsonErrors


@contextmanager
def _printing_json(as_json: bool, beside_the_table: bool) -> Iterator[None]:
    try:
        yield
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        if as_json:
            _print(error, beside_the_table)
        raise


def _print(error: BaseException, beside_the_table: bool) -> None:
    from pipeline.cli.output.console import explain_end, say  # --help needs no log

    if isinstance(error, click.exceptions.Exit):
        return
    if isinstance(error, SystemExit) and error.code not in ENDED:
        return
    problem = explain_end(error)
    figures = {"error": problem.message, "hint": problem.hint, "exit_code": problem.exit_code}
    printed = partial(click.echo, err=True) if beside_the_table else say
    with suppress(OutputError):  # the exit code remains
        printed(json.dumps(figures))


GROUPS = ("Table", "Answer", "Embedded engine", "Paid service", "Output")
"""The groups of options, in the order of the help."""

OWN, OTHER = "", "Other options"
"""Those of the command alone, which name no group, and those that every command has."""


class OptionGroups(JsonErrors):
    """A command whose help lists its options in groups."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each group, and the options that are in none: a command's own before, if any."""
        rows: dict[str, list[tuple[str, str]]] = {name: [] for name in (*GROUPS, OWN, OTHER)}
        for param in self.get_params(ctx):
            if isinstance(param, click.Option) and (record := param.get_help_record(ctx)):
                rows[param.group if isinstance(param, DeclaredOption) else OTHER].append(record)
        own, other = rows.pop(OWN), rows.pop(OTHER)
        sections = [(title, lines) for title, lines in rows.items() if lines]
        whole = [("Options", own + other), *sections] if own else [*sections, (OTHER, other)]
        for title, lines in whole:
            with formatter.section(title):
                formatter.write_dl(lines)
