"""``tender-pipeline codes``: show and search the code tables, and add to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import click

from pipeline.answers import SYSTEMS, System
from pipeline.cli.command import CommandGroup
from pipeline.cli.options import LocalPath
from pipeline.cli.output.console import say, warn
from pipeline.codes import (
    CodeTable,
    counterparts,
    find_code,
    load,
    remove,
    retired,
    shipped,
    titles,
)
from pipeline.errors import CodeTableError
from pipeline.settings import checked_language, parse_systems
from pipeline.wording import command, quoted

ALIKE = 0.3
"""The lowest confidence of a code that is shown, as a share of the best one's. Others share only
some letters with the words."""

of_titles = click.option(
    "--language",
    default="en",
    callback=lambda _context, _option, value: checked_language(value),
    help="The language of the CPV titles, such as de; the others are in English.",
)

of_unspsc = click.argument("system", metavar="unspsc", type=click.Choice(["unspsc"]))


@click.group(cls=CommandGroup, invoke_without_command=True)
@click.pass_context
def codes(context: click.Context) -> None:
    """Show the code tables; the commands below show the codes in them."""
    if context.invoked_subcommand is None:
        for table in _tables():
            say("\n".join(_about(table)))


@codes.command(short_help="Show a CODE, the codes around it, or its replacement.")
@click.argument("code")
@of_titles
def show(code: str, language: str) -> None:
    """Show a CODE: its title, the codes above and right below it, or its replacement.

    For a CPV code, the codes of the other systems that fit it best are shown, too.
    """
    tables = list(_tables())
    named_tables = [
        (table, name) for table in tables if (name := find_code(table, code)) is not None
    ]
    ended = list(_describe_end(code))
    if not (named_tables or ended):
        raise CodeTableError(
            f"No table has the code {code!r}.",
            'Search for words of its title: tender-pipeline codes search "road marking".',
        )
    for table, name in named_tables:
        similar = _in_other_systems(tables, name) if table.system == "cpv" else ()
        shown = replace(table, titles=titles(table.system, language))
        say("\n".join([*_describe(shown, name), *similar]))
    if ended:
        say("\n".join(ended))


@codes.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--systems", multiple=True, default=list(SYSTEMS), help="Where to search.")
@click.option("--top", default=5, type=click.IntRange(1, 50), help="How many.")
@of_titles
def search(words: tuple[str, ...], systems: tuple[str, ...], top: int, language: str) -> None:
    """Find codes by WORDS, in any language."""
    from pipeline.engine import searched

    text, any_found = " ".join(words), False
    for system in parse_systems(systems):
        shown = titles(system, language)
        matches = searched(system, text, top)
        for match in matches:
            if match.confidence >= ALIKE * matches[0].confidence:
                say(f"{system:<7}{match.code:<10}{shown[match.code]}")
                any_found = True
    if any_found:
        return
    if _is_code(text):
        raise CodeTableError(
            f"{quoted(text)} is a code, and codes search takes words.",
            f"Show it: tender-pipeline codes show {text}",
        )
    raise CodeTableError(f"No code fits {quoted(text)}.", "Try other words.")


@codes.command("add", short_help="Use the official UNSPSC table for all your runs.")
@of_unspsc
@click.argument("file", type=LocalPath(path_type=Path, exists=True, dir_okay=False))
def add_table(system: System, file: Path) -> None:
    """Use the official UNSPSC table in FILE, .xlsx, .csv or .csv.gz, for all your runs."""
    from pipeline.codes.unspsc_file import add  # the other commands read no workbook

    table, replaced = add(file), shipped(system)
    say("\n".join(_about(table)))
    if len(table) < len(replaced):
        warn(
            f"The table of this tool has {len(replaced):,} codes. No run gives those that "
            f"{file} lacks. To use them again: {command('codes remove unspsc')}"
        )


@codes.command("remove")
@of_unspsc
def remove_table(system: System) -> None:
    """Remove an added table; the shipped one is used again."""
    say("removed" if remove(system) else "there was no added table")


def _is_code(text: str) -> bool:
    return retired(text) is not None or any(find_code(table, text) for table in _tables())


def _tables() -> Iterator[CodeTable]:
    """Yield all tables that can be read; print a warning about each of the others."""
    for system in SYSTEMS:
        try:
            yield load(system)
        except CodeTableError as error:
            click.echo(f"Warning: {error}", err=True)


def _about(table: CodeTable) -> Iterator[str]:
    counts = ", ".join(
        f"{count:,} {_plural(level, count)}" for level, count in table.counts.items()
    )
    yield f"{table.system:<7}{len(table):,} codes: {counts}"
    yield f"       edition: {table.edition}"
    yield f"       source: {table.source}"
    yield f"       licence: {table.licence}"


def _plural(level: str, count: int) -> str:
    if count == 1:
        return level
    stem = level.removesuffix("y")
    return f"{stem}ies" if stem != level else level + ("es" if level.endswith("s") else "s")


def _describe(table: CodeTable, code: str) -> Iterator[str]:
    yield f"{table.system} {code}  {table.titles[code]}  ({table.level(code)})"
    for above in table.ancestors(code):
        yield f"  in {above}  {table.titles[above]}  ({table.level(above)})"
    for below in table.children(code):
        yield f"     {below}  {table.titles[below]}"


def _in_other_systems(tables: Sequence[CodeTable], code: str) -> Iterator[str]:
    """Name the codes of the other systems that fit a CPV code best."""
    for table in tables:
        if table.system != "cpv":
            for other in counterparts(table.system).get(code, ()):
                if other in table:
                    yield f"  like {table.system} {other}  {table.titles[other]}"


def _describe_end(code: str) -> Iterator[str]:
    """Describe when a retired code ended, and its replacement."""
    end = retired(code)
    if end is None:
        return
    name = f"psc {code.strip().upper()}"
    if end.successor is None:
        yield f"{name}  retired, last day {end.until}; no single code is known to replace it"
    else:
        yield f"{name}  retired, last day {end.until}; now {end.successor}:"
        yield from _describe(load("psc"), end.successor)
