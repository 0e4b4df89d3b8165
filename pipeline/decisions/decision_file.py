"""A decisions file: a line for what a person decided about one text in one system."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from pipeline.answers import System
from pipeline.codes import normalized
from pipeline.codes.table import cut, stem
from pipeline.errors import InputError, OutputError, reason
from pipeline.files.atomic import sync, translated
from pipeline.files.regular import open_regular
from pipeline.wording import option, readable

Choice: TypeAlias = Literal["code", "none", "skip", "undo"]
"""A code was chosen; no code fits; the text was put off; the last decision was taken back."""

Verdict: TypeAlias = Literal["accepted", "general", "wrong", "unjudged"]
"""What a decision says of a code: it is right; right, but too general; wrong; it was not judged."""

Key: TypeAlias = tuple[System, bytes]
"""What a decision is about: the system, and the digest of the text."""

HINT = "Give what tender-pipeline review has written, or an output of run with corrected codes."
"""What to do if a file of decisions cannot be read or understood."""

VERSION = 1

LISTS = ("accepted", "general", "candidates")

Text: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"\S")]


class Decision(msgspec.Struct, frozen=True):
    """What a person decided.

    Attributes:
        system: the system.
        text: the text, as it was classified.
        choice: see `Choice`.
        by: who decided.
        at: when, in UTC, as ISO 8601 writes it.
        code: the chosen code; "" unless a code was chosen.
        title: its title.
        model: what had suggested codes, such as a model and its version.
        best: the best match that it suggested; "" for none.
        confidence: the confidence of the best match; None without one.
        blind: whether the reviewer chose without seeing which match was the best.
        batch: marks decisions that were made together; "" for one that was made by itself.
        settles: whether it settles a conflict, and so replaces earlier decisions of others.
        accepted: further codes that would do.
        general: codes that are right, but too general.
        candidates: the codes that were judged, if not all others are wrong.
    """

    system: System
    text: Text
    choice: Choice
    by: Text
    at: str
    code: str = ""
    title: str = ""
    model: str = ""
    best: str = ""
    confidence: float | None = None
    blind: bool = False
    batch: str = ""
    settles: bool = False
    accepted: tuple[str, ...] = ()
    general: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()

    @property
    def key(self) -> Key:
        """What the decision is about."""
        return self.system, text_key(self.text)

    @property
    def is_kept(self) -> bool:
        """Whether the chosen code is the best match that was shown."""
        return self.code == self.best != ""

    @property
    def outcome(self) -> str:
        """The chosen code, or that none fits, for people."""
        return self.code or "none fits"

    def to_line(self) -> bytes:
        """Return the decision as a line of a decisions file."""
        fields = msgspec.structs.asdict(self)
        values = {name: value for name, value in fields.items() if value or name not in LISTS}
        line = json.dumps({"version": VERSION, **values}, ensure_ascii=False, allow_nan=False)
        return line.encode() + b"\n"

    @classmethod
    def of_line(cls, line: bytes) -> list[Decision]:
        """Return the decision in a line, or those of a line with verdicts in several systems.

        Unknown names are ignored.

        Raises:
            msgspec.MsgspecError: the line is no JSON, or holds no decision; the message says why.
            ValueError, OverflowError, RecursionError: so does this one.
        """
        values = msgspec.json.decode(line.decode("utf-8-sig"), type=dict[str, Any])
        if "systems" in values:
            return [
                _normalized(decision) for decision in msgspec.convert(values, _Judged).decisions()
            ]
        if values.get("version") != VERSION:
            version = values.get("version")
            raise ValueError(f"its version is {version!r}, and this tool reads {VERSION}")
        return [_normalized(msgspec.convert(values, cls))]

    def verdict(self, code: str) -> Verdict:
        """Return what the decision says of a code.

        If it does not list the codes that were judged, a code below the chosen one is right, and
        one above it is right, but too general.
        """
        if code == self.code or code in self.accepted:
            return "accepted"
        if code in self.general:
            return "general"
        if self.candidates:
            return "wrong" if code in self.candidates else "unjudged"
        if self.code and self._contains(self.code, code):
            return "accepted"
        return "general" if self.code and self._contains(code, self.code) else "wrong"

    def _contains(self, upper: str, code: str) -> bool:
        digits = len(stem(self.system, upper))
        return cut(self.system, upper, digits) == cut(self.system, code, digits)


def text_key(text: str) -> bytes:
    """Return the digest by which a text is known."""
    return sha256(text.encode()).digest()


class _Verdict(msgspec.Struct):
    """What an expert says of the codes of one system; see `Decision`."""

    best: str | None = None
    accepted: tuple[str, ...] = ()
    other: tuple[str, ...] = ()
    general: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()
    unknowable: bool = False


class _Judged(msgspec.Struct):
    """A line with the verdicts of an expert in several systems."""

    text: Text
    systems: dict[System, _Verdict]
    by: Text = "an expert"
    at: str = "1970-01-01T00:00:00+00:00"

    def decisions(self) -> Iterator[Decision]:
        """Yield the decision in each system."""
        text = " ".join(self.text.split())  # as texts of a table are read
        for system, judged in self.systems.items():
            choice: Choice = "skip" if judged.unknowable else "code" if judged.best else "none"
            yield Decision(
                system=system,
                text=text,
                choice=choice,
                by=self.by,
                at=self.at,
                code=judged.best or "",
                accepted=judged.accepted + judged.other,
                general=judged.general,
                candidates=judged.candidates,
            )


def _normalized(decision: Decision) -> Decision:
    """Return a decision with its codes and its time as the code tables and other decisions have."""

    def code(written: str) -> str:
        code = normalized(decision.system, written)
        if code is None:
            raise ValueError(f"its code {written!r} is not a {decision.system} code")
        return code

    codes = {name: tuple(map(code, getattr(decision, name))) for name in LISTS}
    chosen = code(decision.code) if decision.choice == "code" else ""
    return msgspec.structs.replace(decision, at=_time(decision.at), code=chosen, **codes)


def _time(written: str) -> str:
    """Return a time in UTC, so that times compare as text."""
    try:
        moment = datetime.fromisoformat(written)
    except ValueError as error:
        raise ValueError(f"its time is {written!r}") from error
    moment = moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
    return moment.isoformat(timespec="milliseconds")


@dataclass(frozen=True, slots=True)
class DecisionFile:
    """The contents of a decisions file.

    Attributes:
        path: the file.
        sha256: of its bytes.
        decisions: its decisions, in the order in which they were made.
        complete: how many bytes its complete lines have.
        torn: whether an incomplete line follows them.
        notes: what else to tell the user about the file.
        counts: how many codes of a table a person changed, confirmed, ...; empty for a review.
    """

    path: Path
    sha256: str
    decisions: tuple[Decision, ...]
    complete: int = 0
    torn: bool = False
    notes: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def warning(self) -> str | None:
        """What to tell the user about the file; None for nothing."""
        torn = (
            f"The last line of {self.path} is incomplete and is ignored: the program was stopped "
            "while it wrote it. Review that text again."
        )
        return "\n".join([*self.notes, *([torn] if self.torn else [])]) or None


def read_decisions(path: Path) -> DecisionFile:
    """Read a decisions file.

    Raises:
        InputError: the file cannot be read, or a line other than the last is not a decision.
    """
    hashed = sha256()
    decisions: list[Decision] = []
    complete, torn = 0, False
    try:
        with open_regular(path) as file:
            for number, line in enumerate(file, start=1):
                hashed.update(line)
                if not line.endswith(b"\n"):
                    if _is_whole(line):  # a file of another kind may have one line
                        _decisions(path, number, line)
                    torn = True
                    break
                complete += len(line)
                if line.strip():
                    decisions += _decisions(path, number, line)
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {reason(error)}.",
            HINT,
        ) from error
    return DecisionFile(path, hashed.hexdigest(), tuple(decisions), complete, torn)


def _is_whole(line: bytes) -> bool:
    """Return whether a line without an end is more than the beginning of a JSON object."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return not line.startswith(b"{")
    return True


def _decisions(path: Path, number: int, line: bytes) -> list[Decision]:
    try:
        return Decision.of_line(line)
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError) as error:
        why = readable(reason(error).replace(" - at ", " in ").replace("$.", ""), 200)
        raise InputError(
            f"{path}, line {number}, is not a decision: {why}.",
            "Correct or delete that line; a review writes one JSON object a line.",
        ) from error


OPTION = option("decisions", "FILE")


class DecisionLog:
    """A decisions file that one process appends to; a context manager.

    An incomplete last line is removed when the file is opened.

    Raises:
        InputError: the file has lines that are not decisions.
        OutputError: the file cannot be written, or another review has it open.

    Attributes:
        path: the file.
        before: what the file held when it was opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with translated(path, OPTION):
            new = not path.exists()
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
            self._file = os.open(path, flags, 0o666)
        try:
            self._lock()
            self.before: DecisionFile = read_decisions(path)
            with translated(path, OPTION):
                os.ftruncate(self._file, self.before.complete)
                if new:
                    sync(path.parent)
        except BaseException:
            os.close(self._file)
            raise

    def __enter__(self) -> DecisionLog:
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self._file)

    def append(self, decisions: Sequence[Decision]) -> None:
        """Write decisions to the disk: all of them or, if that fails, none.

        Raises:
            OutputError: they cannot be written.
        """
        lines = b"".join(decision.to_line() for decision in decisions)
        with translated(self.path, OPTION):
            size = os.fstat(self._file).st_size
            try:
                unwritten = memoryview(lines)
                while unwritten:
                    unwritten = unwritten[os.write(self._file, unwritten) :]
                os.fsync(self._file)
            except BaseException:
                os.ftruncate(self._file, size)
                raise

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise OutputError(
                f"Another review is writing {self.path}.",
                f"Finish it first, or save to a file of your own: {OPTION}.",
            ) from error
