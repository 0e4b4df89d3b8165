"""Finds the files that paths, patterns and folders name, and where their outputs go."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.classification.provenance import has_manifest
from pipeline.errors import InputError, SettingsError
from pipeline.settings import Format
from pipeline.tables import has_table_suffix, split_suffixes

__all__ = ["Found", "InputFile", "are_several", "default_folder", "find_files"]

WILDCARDS = ("*", "?", "[")

HIDDEN = (".", "_")
"""How names begin that other tools keep for themselves: ``.crc`` files, ``_SUCCESS``."""

MANIFEST = ".manifest.json"


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file to classify.

    Attributes:
        path: where it is.
        output: where its output goes.
    """

    path: Path
    output: Path


@dataclass(frozen=True, slots=True)
class Found:
    """The files that were found.

    Attributes:
        files: the tables.
        skipped: other files in the folders, and links out of them.
    """

    files: Sequence[InputFile]
    skipped: Sequence[Path]


def are_several(paths: Sequence[Path]) -> bool:
    """Tell whether paths name more than one file: several paths, a folder or a pattern."""
    return len(paths) > 1 or paths[0].is_dir() or _is_pattern(paths[0])


def default_folder(paths: Sequence[Path]) -> Path:
    """Return the default folder of the outputs: ``outputs/<folder>.classified``."""
    name = paths[0].resolve().name if len(paths) == 1 and paths[0].is_dir() else ""
    return Path("outputs") / (f"{name}.classified" if name else "classified")


def find_files(paths: Sequence[Path], folder: Path, output_format: Format | None) -> Found:
    """Find the tables that paths name, in order, each once.

    The outputs have the layout of a folder, or of the files below the fixed part of a pattern.
    Files of a folder count as tables by their suffixes; hidden ones, those that begin with an
    underscore, and outputs of this tool do not. Links are followed only within the folder.

    Args:
        paths: files, patterns and folders.
        folder: the folder of the outputs, which is not searched.
        output_format: the format of the outputs; None for that of each input.

    Raises:
        InputError: a pattern or a folder has no table.
        SettingsError: two inputs would have the same output.
    """
    skipped: list[Path] = []
    found: dict[Path, Path] = {}
    for path in paths:
        if str(path) == "-":
            raise SettingsError("Standard input is one table.", "Run it apart from other files.")
        before = len(found)
        for file, base in _files(path, folder.resolve(), skipped):
            found.setdefault(file, _renamed(folder / file.relative_to(base), output_format))
        if len(found) == before and not any(file.is_relative_to(path) for file in found):
            raise InputError(
                f"{path} has no table.",
                "Give a folder or a pattern with tables, such as data/*.csv.",
            )
    _check_outputs(found)
    return Found([InputFile(path, output) for path, output in found.items()], skipped)


def _files(path: Path, output: Path, skipped: list[Path]) -> Iterator[tuple[Path, Path]]:
    """Yield the files of one path, and the folder to which their layout is relative."""
    if path.is_dir():
        if path.resolve() == output:
            raise SettingsError(f"{path} is the input.", "Write elsewhere: --output DIR.")
        yield from ((file, path) for file in _files_in(path, output, skipped))
    elif _is_pattern(path):
        fixed = Path(*_fixed(path))
        for match in sorted(fixed.glob(str(path.relative_to(fixed)))):
            hidden = match.name.startswith(".") or match.name.endswith(MANIFEST)
            if match.is_file() and not hidden:
                yield match, fixed
    else:
        yield path, path.parent


def _files_in(folder: Path, output: Path, skipped: list[Path]) -> Iterator[Path]:
    whole = folder.resolve()
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(HIDDEN) and (Path(place) / name).resolve() != output
        )
        links = [Path(place) / name for name in folders if (Path(place) / name).is_symlink()]
        skipped += links
        for file in (Path(place) / name for name in sorted(names)):
            if file.name.startswith(HIDDEN) or file.name.endswith(MANIFEST):
                continue
            inside = file.resolve().is_relative_to(whole)
            if not (inside and has_table_suffix(file)):
                skipped.append(file)
            elif not has_manifest(file):  # else it is an output of this tool
                yield file


def _is_pattern(path: Path) -> bool:
    return any(sign in str(path) for sign in WILDCARDS) and not path.exists()


def _fixed(path: Path) -> Iterator[str]:
    """Yield the parts of a pattern before its first wildcard."""
    for part in path.parts[:-1]:
        if any(sign in part for sign in WILDCARDS):
            return
        yield part


def _renamed(path: Path, output_format: Format | None) -> Path:
    if output_format is None or has_table_suffix(path, output_format):
        return path
    return path.with_name(f"{split_suffixes(path)[0]}.{output_format}")


def _check_outputs(found: dict[Path, Path]) -> None:
    inputs: dict[Path, Path] = {}
    for path, output in found.items():
        other = inputs.setdefault(output, path)
        if other != path:
            raise SettingsError(
                f"{other} and {path} would both be written to {output}.",
                "Give the folder above both, or run them apart with another --output DIR.",
            )
