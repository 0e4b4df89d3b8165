"""The options of the commands that read labelled tables."""

from __future__ import annotations

from pathlib import Path

import click

from pipeline.cli.options import LocalPath, declared

__all__ = ["label_decisions", "labelled_columns"]

label_decisions = click.option(
    "--decisions",
    multiple=True,
    type=LocalPath(path_type=Path),
    help="A file of decisions (see review) with labels; repeat it for several.",
)

labelled_columns = declared(
    click.option(
        "--text-column",
        "text_columns",
        multiple=True,
        default=["description"],
        help="A column with the text; repeat it to join several.",
    ),
    click.option("--code-column", default="code", help="The column with the right code."),
)
