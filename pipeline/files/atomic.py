"""Writes files atomically and durably, one writer at a time."""

from __future__ import annotations

import fcntl
import os
import platform
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from pipeline.errors import OutputError, reason
from pipeline.files.paths import is_file_at, is_seen
from pipeline.files.regular import open_regular
from pipeline.wording import OVERWRITE, option

LONGEST_NAME = 255
"""The longest file name on common file systems, bytes."""

OUTPUT = option("output", "PATH")

FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


@contextmanager
def translated(path: Path, named: str = OUTPUT) -> Iterator[None]:
    """Translate errors of the operating system into errors of an output.

    The option that sets another path is named in the message.

    Raises:
        OutputError: the file cannot be written.
    """
    try:
        yield
    except (OSError, RuntimeError, ValueError) as error:  # a full disk, a loop of links, a NUL
        raise OutputError(
            f"{path} cannot be written: {reason(error)}.",
            f"Check the path, its permissions and the free space, or write elsewhere: {named}.",
        ) from error


def check_place(*paths: Path, named: str = OUTPUT) -> None:
    """Check names, folders and permissions of outputs before any work is done.

    The option that names another place is in the message.

    Raises:
        OutputError: a file cannot be written there.
    """
    for path in paths:
        if len(os.fsencode(_temporary(path).name)) > LONGEST_NAME:
            raise OutputError(
                f"The name {path.name!r} is too long.", f"Choose a shorter one: {named}."
            )
        folder = next(folder for folder in path.parents if is_seen(folder))
        if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
            raise OutputError(
                f"Nothing can be written in {folder}.",
                f"Check that it is a writable folder, or write elsewhere: {named}.",
            )


def _temporary(target: Path) -> Path:
    """Return the path of an unfinished output.

    It is the same for all runs on a machine, so that a run replaces what a killed run left behind,
    and differs between machines that share a folder.
    """
    machine = sha256(platform.node().encode()).hexdigest()[:8]
    return target.with_name(f".{target.name}.{machine}.tmp")


@contextmanager
def only_writer(target: Path) -> Iterator[Path]:
    """Create and lock the temporary file of an output; yield its path.

    Raises:
        OutputError: another run is writing the same output.
    """
    temporary = _temporary(target)
    descriptor = _lock(temporary, target)
    try:
        if target.exists():
            os.fchmod(descriptor, stat.S_IMODE(target.stat().st_mode))
        yield temporary
    finally:
        if is_file_at(temporary, os.fstat(descriptor)):
            temporary.unlink()
        os.close(descriptor)


@contextmanager
def new_file(target: Path) -> Iterator[Path]:
    """Yield the path of a temporary file, and put what a block writes there in place, durably.

    Raises:
        OutputError: another run is writing the same file.
    """
    with only_writer(target) as temporary:
        yield temporary
        sync(temporary)
        temporary.replace(target)
        sync(target.parent)


def _lock(temporary: Path, target: Path) -> int:
    """Open the file and lock it, again if another run moved it away in between."""
    while True:
        if temporary.is_symlink():  # it is somebody else's, and leads anywhere
            temporary.unlink()
        descriptor = os.open(temporary, FLAGS, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            raise OutputError(
                f"Another run is writing {target}.",
                f"Wait until it is done, or write elsewhere: {OUTPUT}.",
            ) from error
        if is_file_at(temporary, os.fstat(descriptor)):
            return descriptor
        os.close(descriptor)


def replace_text(path: Path, text: str) -> None:
    """Replace a text file atomically and durably; errors as in `new_file`.

    Unpaired surrogates, as in the name of a file that is not UTF-8, become "?".
    """
    with new_file(path) as temporary:
        temporary.write_text(text, "utf-8", "replace")


def sync(path: Path) -> None:
    """Flush a file, or a folder's entries, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


HEAD = 200
"""Bytes of a file that are searched for the mark."""


@dataclass(frozen=True, slots=True)
class MarkedFile:
    """Where a text file goes whose mark says which command wrote it; usually a page.

    Attributes:
        path: the file.
        mark: a comment near the start of every file of this kind, which a new one may replace.
        option: the option that names the file, for messages.
        suffixes: what the name of such a file may end in; the case of letters counts.
        otherwise: what happens to a file with another suffix, for messages.
    """

    path: Path
    mark: str
    option: str
    suffixes: tuple[str, ...] = (".html", ".htm", ".HTML", ".HTM")
    otherwise: str = "a browser would not show it as a page"

    def check(self, overwrite: bool) -> None:
        """Find out before the work whether the file may be written.

        Raises:
            OutputError: its place is unusable, or holds a file that this tool did not write, or its
                name has another suffix.
        """
        check_place(self.path.resolve(), named=self._named)
        if self.path.is_dir():
            raise OutputError(f"{self.path} is a folder.", f"Give the file a name: {self._named}.")
        if self.path.suffix not in self.suffixes:
            raise OutputError(
                f"{self.path} does not end in {self.suffixes[0]}, so {self.otherwise}.",
                f"Give it that suffix: {self._named}.",
            )
        if self.path.exists() and not overwrite and not self._is_ours():
            raise OutputError(
                f"{self.path} exists, and this tool did not write it.",
                f"Choose another name ({self._named}), or replace it with {OVERWRITE}.",
            )

    def write(self, text: str) -> None:
        """Write the file atomically.

        Raises:
            OutputError: it cannot be written.
        """
        with translated(self.path, self._named):
            self.path.resolve().parent.mkdir(parents=True, exist_ok=True)
            replace_text(self.path.resolve(), text)

    @property
    def _named(self) -> str:
        return f"{self.option} FILE{self.suffixes[0]}"

    def _is_ours(self) -> bool:
        with translated(self.path, self._named), open_regular(self.path) as file:
            return self.mark.encode() in file.read(HEAD)
