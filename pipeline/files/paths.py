"""The paths of local files, the addresses of objects in buckets, and the user's own folders."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Literal, TypeAlias

from pipeline.errors import SettingsError

SCHEMES = ("s3", "gs", "gcs", "abfs", "abfss")

OF_LEDGER = ("-wal", "-shm", "-journal", ".lock", ".locks")
"""How the names of the files beside a ledger end."""

DATABASE = b"SQLite format 3\0"
"""How the ledger begins, and every other database of SQLite: nothing that is replaced is one."""

ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(//?)([^/]*)/?(.*)", re.DOTALL)


class CloudPath(PurePosixPath):
    """The address of an object or a folder in a bucket, such as ``s3://bucket/tenders.csv``."""

    def __str__(self) -> str:
        return super().__str__().replace(":/", "://", 1)

    @property
    def scheme(self) -> str:
        """The kind of store: ``s3``, ``gs``, ``gcs``, ``abfs`` or ``abfss``."""
        return self.parts[0].removesuffix(":")

    @property
    def bucket(self) -> str:
        """The bucket; of Azure, the container and its account."""
        return self.parts[1]

    @property
    def key(self) -> str:
        """The name of the object in its bucket."""
        return "/".join(self.parts[2:])


AnyPath: TypeAlias = Path | CloudPath
"""The path of a local file, or the address of an object."""


def as_path(path: str | os.PathLike[str]) -> AnyPath:
    """Return the path of a local file, or the address of an object if it has a scheme.

    Raises:
        SettingsError: the path is empty, or the address has an unknown scheme, credentials, or no
            bucket.
    """
    if isinstance(path, CloudPath):
        return path
    if not os.fspath(path):  # pathlib would take it for the current folder
        raise SettingsError(
            "The path is empty.", "Give a path; perhaps a variable in it is not set."
        )
    address = ADDRESS.fullmatch(os.fspath(path))
    if address is None:
        return Path(path)
    scheme, slashes, bucket, key = address.groups()
    if scheme.lower() not in SCHEMES:
        if slashes == "/":
            return Path(path)
        raise SettingsError(
            f"Addresses with {scheme}:// are not supported.",
            "Give the path of a file, or an address that begins with s3://, gs:// or abfs://.",
        )
    _check_address(scheme.lower(), bucket, key)
    return CloudPath(f"{scheme.lower()}:", bucket, key)


def resolved(path: AnyPath) -> AnyPath:
    """Return the absolute path of a file without links, or the address of an object as it is.

    Raises:
        SettingsError: symbolic links lead in a circle.
    """
    if not isinstance(path, Path):
        return path
    with suppress(RuntimeError):  # since Python 3.13, a link in a circle is returned
        absolute = path.resolve()
        if not any(map(os.path.islink, (absolute, *absolute.parents))):
            return absolute
    raise SettingsError(
        f"{path} leads in a circle of symbolic links.",
        "Correct the links, or give another path.",
    )


def _check_address(scheme: str, bucket: str, key: str) -> None:
    user, at, _ = bucket.partition("@")
    if (":" in user) or (at and not scheme.startswith("abfs")):
        raise SettingsError(
            f"A {scheme}:// address has credentials in it.",
            "Leave them out, and put them in a usual place, such as environment variables.",
        )
    parts = key.rstrip("/").split("/") if key else []
    if not bucket or {"", ".", ".."} & set(parts):
        raise SettingsError(
            f"{scheme}://{bucket}/{key} is not the address of an object.",
            f"Write {scheme}://BUCKET/FOLDER/FILE, without empty parts, . and ..",
        )


def check_kept(
    written: Mapping[str, AnyPath | None],
    kept: Sequence[tuple[str, AnyPath | None]],
    ledger: Path | None = None,
) -> None:
    """Check, before any work, that each file to write is none to keep, and none of the others.

    Paths are the same by any spelling, and through links of both kinds.

    Args:
        written: what is written, by option or argument.
        kept: what is read, and what that is.
        ledger: it and its other files are kept, too, like every database of SQLite.

    Raises:
        SettingsError: two of them are one file, or a folder to replace has one in it.
    """
    kept_files = [*kept, *(_of_ledger(ledger) if ledger else ())]
    for name, path in written.items():
        if path is None:
            continue
        for what, other in kept_files:
            if other is not None and _are_same(path, other):
                raise SettingsError(
                    f"{name} and {what} are the same file, which would be lost.",
                    f"Name another file for {name}.",
                )
        if isinstance(path, Path) and _is_database(path):
            raise SettingsError(
                f"{path} is a database, perhaps a ledger, which would be lost.",
                f"Name another file for {name}.",
            )
        kept_files.append((name, path))


def _of_ledger(ledger: Path) -> list[tuple[str, AnyPath | None]]:
    beside = {Path(f"{ledger}{end}") for end in OF_LEDGER}
    with suppress(OSError):
        beside |= {file for file in ledger.parent.iterdir() if file.name.startswith(ledger.name)}
    files = sorted(file for file in beside if file.name.endswith(OF_LEDGER))
    return [("the ledger", ledger), *(("a file of the ledger", file) for file in files)]


def _are_same(path: AnyPath, other: AnyPath) -> bool:
    if isinstance(path, CloudPath) or isinstance(other, CloudPath):
        return path == other
    with suppress(OSError):
        if path.samefile(other):
            return True
    absolute = resolved(other)
    return resolved(path) in (absolute, *absolute.parents)


def _is_database(path: Path) -> bool:
    try:
        if not path.is_file():  # a pipe would wait
            return False
        with path.open("rb") as file:
            return file.read(len(DATABASE)) == DATABASE
    except OSError:  # whoever writes it says what is wrong
        return False


def is_seen(path: Path) -> bool:
    """Return whether there is something at a path; not if a folder above it may not be entered."""
    try:
        return path.exists()
    except PermissionError:
        return False


def is_file_at(path: Path, file: os.stat_result) -> bool:
    """Return whether a file is at a path; links are followed."""
    try:
        return os.path.samestat(path.stat(), file)
    except OSError:
        return False


def stamp(path: AnyPath) -> tuple[int, int, int] | None:
    """Return what changes when a file is replaced or written; None for an object or no file."""
    if not isinstance(path, Path):
        return None
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


APP = "tender-pipeline"


def data_folder() -> Path:
    """Return the folder of files that must be kept, such as the ledger.

    Raises:
        SettingsError: the user has no home folder and the environment names no other.
    """
    return _folder("data", "XDG_DATA_HOME")


def state_folder() -> Path:
    """Return the folder of this machine's state, such as locks; errors as in `data_folder`."""
    return _folder("state", "XDG_STATE_HOME")


def machine_folder() -> Path:
    """Return the folder that all of this user's processes on this machine share.

    It is in the home folder even if ``XDG_STATE_HOME`` is set, since that variable may differ
    between a shell and a scheduler. If the home folder is not writable, it is `state_folder`.

    Raises:
        SettingsError: the user has no home folder and the environment names no other.
    """
    usual = "Library/Application Support" if sys.platform == "darwin" else ".local/state"
    try:
        folder = Path.home() / usual / APP
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return state_folder()
    return folder if os.access(folder, os.W_OK | os.X_OK) else state_folder()


def _folder(kind: Literal["data", "state"], variable: str) -> Path:
    import platformdirs  # not needed to show help

    find: Callable[[str], Path] = getattr(platformdirs, f"user_{kind}_path")
    try:
        return find(APP)
    except RuntimeError as error:  # as in a container whose user has no passwd entry
        raise SettingsError(
            "This user has no home folder.", f"Set HOME or {variable} to a writable folder."
        ) from error
