"""The commands by name; each one is imported when it is used."""

from __future__ import annotations

from importlib import import_module

import click

from pipeline.cli.process import leaving_at_once

COMMANDS = {
    "accounts": "Open, top up and check accounts of the service.",
    "codes": "Show, search and add code tables.",
    "doctor": "Check what a run needs on this machine, and say what to do.",
    "evaluate": "Measure how good the codes are, on a labelled table.",
    "ledger": "Show what was bought; settle, prune and verify it.",
    "plan": "Show what a run would do and cost, and spend nothing.",
    "review": "Decide doubtful rows on a local page, by keyboard.",
    "run": "Classify a table and write it back with its codes.",
    "serve": "Serve the API on this machine, to rehearse paid runs.",
    "train": "Learn from your own history of tenders and their codes.",
}
"""The commands, and what lists of them and shells say of each."""

MODULES = {"plan": "pipeline.cli.commands.run"}
"""The modules of commands that have none of their own name."""


class _Commands(click.Group):
    """Imports only the command that is called, and none for the list of commands."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command; None if there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        module = MODULES.get(cmd_name, f"pipeline.cli.commands.{cmd_name}")
        with leaving_at_once():
            command: click.Command = getattr(import_module(module), cmd_name)
        command.short_help = COMMANDS[cmd_name]
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([*COMMANDS.items()])


@click.command(
    cls=_Commands,
    commands={name: click.Command(name) for name in COMMANDS},
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "show_default": True,
    },
)
@click.version_option(package_name="tender-pipeline")
@click.option(
    "--debug",
    is_flag=True,
    expose_value=False,
    help="Show where an error happened. It may be anywhere in the command.",
)
def app() -> None:
    """Tables of public tenders in, procurement codes out: CPV, PSC, UNSPSC and NAICS."""
