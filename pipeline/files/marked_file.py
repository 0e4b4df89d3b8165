"""A text file that a command writes: it replaces only its own kind, atomically."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import OutputError
from pipeline.files.atomic import check_place, replace_text, translated
from pipeline.files.regular import open_regular

__all__ = ["MarkedFile"]

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
        check_place(self.path.resolve(), option=self._named)
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
                f"Choose another name ({self._named}), or replace it with --overwrite.",
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
