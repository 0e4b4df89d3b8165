"""Finds the files that paths, patterns and folders name, and where their outputs go."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from pipeline.classification.manifest import BESIDE_OUTPUTS, manifest_path, read_manifest
from pipeline.errors import InputError, SettingsError
from pipeline.files.cloud import Storage
from pipeline.files.paths import AnyPath, CloudPath, is_seen, resolved
from pipeline.settings import Format
from pipeline.tables.formats import HIDDEN, LOCKED, has_table_suffix, is_table_name, split_suffixes
from pipeline.tables.streams import archived, is_archive
from pipeline.wording import listed, option

WILDCARDS = ("*", "?", "[")

log = logging.getLogger("pipeline")


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file to classify, and where its output goes."""

    path: AnyPath
    output: AnyPath


class _Candidate(NamedTuple):
    """A file that one of the paths names, and the folder whose layout the outputs keep.

    If it is no table, it is skipped.
    """

    path: AnyPath
    base: AnyPath
    is_table: bool


def are_several(paths: Sequence[AnyPath], storage: Storage) -> bool:
    """Return whether paths name more than one file: several paths, a folder or a pattern."""
    return len(paths) > 1 or _is_folder(paths[0], storage) or _is_pattern(paths[0], storage)


def default_folder(paths: Sequence[AnyPath], storage: Storage) -> Path:
    """Return the default folder of the outputs: ``outputs/<folder>.classified``."""
    first = resolved(paths[0])
    name = first.name if len(paths) == 1 and _is_folder(first, storage) else ""
    return Path("outputs") / (f"{name}.classified" if name else "classified")


def is_file(path: AnyPath, storage: Storage) -> bool:
    """Return whether there is something at a path that is not a folder."""
    if isinstance(path, CloudPath):
        return storage.kind(path) == "file"
    return is_seen(path) and not path.is_dir()


def files_and_folder(
    paths: Sequence[AnyPath], output: AnyPath | None, output_format: Format | None, storage: Storage
) -> tuple[AnyPath, Sequence[InputFile]]:
    """Return the folder of the outputs, and the tables that paths name; see `find_files`.

    Raises:
        InputError, SettingsError: as by `find_files`; also if there is no path, or if the output is
            not a folder.
    """
    if not paths:
        raise InputError("No path is given.", "Give files, folders or patterns such as data/*.csv.")
    folder = output or default_folder(paths, storage)
    # A folder that is there may have the name of a table.
    named = isinstance(output, Path) and has_table_suffix(output) and not output.is_dir()
    if named or is_file(folder, storage):
        raise SettingsError(
            f"{folder} is not a folder, and there are several inputs.",
            f"Name a folder: {option('output', 'DIR')}.",
        )
    return folder, find_files(paths, folder, output_format, storage)


def find_files(
    paths: Sequence[AnyPath], folder: AnyPath, output_format: Format | None, storage: Storage
) -> list[InputFile]:
    """Find the tables that paths name, in order, each once, and warn of other files.

    The outputs have the layout of a folder, or of the files below the fixed part of a pattern.
    Files of a folder count as tables by their suffixes; hidden ones, those that begin with an
    underscore, outputs of this tool and what is beside them do not. Links are followed only within
    the folder.

    Args:
        paths: files, patterns and folders.
        folder: the folder of the outputs, which is not searched.
        output_format: the format of the outputs; None for that of each input.
        storage: access to buckets.

    Raises:
        InputError: a pattern or a folder has no table.
        SettingsError: two inputs would have the same output.
    """
    skipped: list[AnyPath] = []
    outputs: dict[AnyPath, AnyPath] = {}
    for path in paths:
        if str(path) == "-":
            raise SettingsError("Standard input is one table.", "Run it apart from other files.")
        before = len(outputs)
        for file in _candidates(path, folder, storage):
            if file.is_table:
                outputs.setdefault(file.path, _output(file, folder, output_format))
            else:
                skipped.append(file.path)
        if len(outputs) == before and not any(file.is_relative_to(path) for file in outputs):
            raise InputError(
                f"{path} has no table.",
                "Give a pattern such as data/*.csv, or a folder with tables other than outputs of "
                "this tool.",
            )
    _check_outputs(outputs)
    if skipped:
        names = listed([str(path) for path in skipped])
        log.warning("Skipped, because they are not tables or lead out of the folder: %s.", names)
    return [InputFile(path, output) for path, output in outputs.items()]


def _candidates(path: AnyPath, output: AnyPath, storage: Storage) -> Iterator[_Candidate]:
    """Yield the files that one path names."""
    if _is_folder(path, storage):
        if resolved(path) == resolved(output):
            raise SettingsError(
                f"{path} is the input.", f"Write elsewhere: {option('output', 'DIR')}."
            )
        if isinstance(path, CloudPath):
            yield from _objects_in(path, output, storage)
        else:
            yield from _files_in(path, resolved(output))
    elif _is_pattern(path, storage):
        fixed = type(path)(*_fixed_parts(path))
        for match in _matches(path, fixed, storage):
            if not match.name.startswith((".", LOCKED)) and not match.name.endswith(BESIDE_OUTPUTS):
                yield _Candidate(match, fixed, is_table=True)
    else:
        yield _Candidate(path, path.parent, is_table=True)


def _matches(path: AnyPath, fixed: AnyPath, storage: Storage) -> list[AnyPath]:
    """Return the files that a pattern below a fixed folder matches, in order."""
    pattern = path.relative_to(fixed)
    if isinstance(fixed, CloudPath):
        objects = storage.files(fixed)
        return [each for each in objects if _fits(each.relative_to(fixed).parts, pattern.parts)]
    return [match for match in sorted(fixed.glob(str(pattern))) if match.is_file()]


def _fits(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return whether the parts of a path match those of a pattern, as with `Path.glob`."""
    if not (parts and pattern):
        return not parts and all(part == "**" for part in pattern)
    if pattern[0] == "**":
        return _fits(parts, pattern[1:]) or _fits(parts[1:], pattern)
    return fnmatchcase(parts[0], pattern[0]) and _fits(parts[1:], pattern[1:])


def _objects_in(folder: CloudPath, output: AnyPath, storage: Storage) -> Iterator[_Candidate]:
    objects = storage.files(folder)
    names = set(objects)
    for path in objects:
        hidden = any(part.startswith(HIDDEN) for part in path.relative_to(folder).parts)
        if hidden or path.name.endswith(BESIDE_OUTPUTS) or path.is_relative_to(output):
            continue
        is_table = _is_table(path)
        if not (is_table and manifest_path(path) in names):  # an output of ours
            yield _Candidate(path, folder, is_table)


def _files_in(folder: Path, output: AnyPath) -> Iterator[_Candidate]:
    whole = folder.resolve()
    for parent, folders, names in os.walk(folder, onerror=_refuse):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(HIDDEN) and _target(Path(parent) / name) != output
        )
        for link in (Path(parent) / name for name in folders):
            if link.is_symlink():
                yield _Candidate(link, folder, is_table=False)
        for file in (Path(parent) / name for name in sorted(names)):
            if file.name.startswith(HIDDEN) or file.name.endswith(BESIDE_OUTPUTS):
                continue
            is_table = _is_within(file, whole) and _is_table(file)
            if not (is_table and read_manifest(file)):  # an output of ours
                yield _Candidate(file, folder, is_table)


def _is_table(file: AnyPath) -> bool:
    return is_table_name(file) or bool(_tables_in(file))


def _is_within(file: Path, folder: Path) -> bool:
    """Return whether a file is in a folder, and not only a link in it that leads out of it."""
    target = _target(file)
    return target is not None and target.is_relative_to(folder)


def _target(path: Path) -> Path | None:
    """Return where links in a path lead; None if nobody can tell."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # a forbidden folder, or links in a circle
        return None


def _refuse(error: OSError) -> None:
    """Refuse a folder that cannot be read: tables in it must not be left out unnoticed."""
    raise InputError(
        f"{error.filename} cannot be read: {error.strerror}.",
        "Make it readable, or name the other files and folders.",
    ) from error


def _is_folder(path: AnyPath, storage: Storage) -> bool:
    if isinstance(path, CloudPath):
        return storage.kind(path) == "folder"
    return is_seen(path) and path.is_dir()


def _is_pattern(path: AnyPath, storage: Storage) -> bool:
    return any(sign in str(path) for sign in WILDCARDS) and not is_file(path, storage)


def _fixed_parts(path: AnyPath) -> Iterator[str]:
    """Yield the parts of a pattern before its first wildcard."""
    for part in path.parts[:-1]:
        if any(sign in part for sign in WILDCARDS):
            return
        yield part


def _tables_in(file: AnyPath) -> Sequence[str]:
    """Return the names of the tables in an archive; of a damaged one, that of a CSV file."""
    if isinstance(file, CloudPath) or not is_archive(file):
        return ()
    try:
        return archived(file)
    except InputError:  # which the file's own job reports
        return (f"{file.stem}.csv",)


def _output(file: _Candidate, folder: AnyPath, output_format: Format | None) -> AnyPath:
    output = folder / file.path.relative_to(file.base)
    if tables := _tables_in(file.path):
        _, suffix, compression = split_suffixes(PurePosixPath(tables[0]))
        stem, _, _ = split_suffixes(PurePosixPath(file.path.stem))  # a.csv.zip is called a
        output = output.with_name(f"{stem}{suffix}{compression}")
    if output_format is None or has_table_suffix(output, output_format):
        return output
    return output.with_name(f"{split_suffixes(output)[0]}.{output_format}")


def _check_outputs(outputs: dict[AnyPath, AnyPath]) -> None:
    inputs: dict[AnyPath, AnyPath] = {}
    for path, output in outputs.items():
        other = inputs.setdefault(output, path)
        if other != path:
            raise SettingsError(
                f"{other} and {path} would both be written to {output}.",
                "Give the folder above both, or run them apart with another "
                f"{option('output', 'DIR')}.",
            )
