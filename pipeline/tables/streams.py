"""Opens files, objects and archives as byte streams of tables."""

from __future__ import annotations

import codecs
import hashlib
import re
import shutil
import tempfile
import unicodedata
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from itertools import islice
from pathlib import Path, PurePath, PurePosixPath
from typing import BinaryIO
from zipfile import BadZipFile, ZipFile, ZipInfo

import pyarrow as pa

from pipeline.errors import InputError, PipelineError, reason
from pipeline.files.cloud import Storage
from pipeline.files.paths import AnyPath, CloudPath
from pipeline.files.regular import open_regular
from pipeline.tables.formats import (
    HIDDEN,
    Compression,
    Contents,
    compression_of,
    contents_of,
    first_bytes,
    is_table_name,
    refuse_other_contents,
)
from pipeline.tables.table import Reader
from pipeline.wording import listed, quoted

ENCODINGS = (
    *("utf-8", "cp1252", "cp1250", "cp1257", "latin1", "cp850"),
    *("cp949", "cp932", "gb18030", "big5", "cp1255", "cp1256", "cp1251", "cp1253"),
)
"""Usual encodings of tables: UTF-8, the Latin ones of Windows and DOS, and those of other scripts.
Of the latter, those that take fewer words for theirs come first."""

WORD = re.compile(rb"[A-Za-z\x80-\xff]*[\x80-\xff][A-Za-z\x80-\xff]*")
"""A word with letters beyond ASCII, of many scripts."""

WORDS = 1_000
"""Words of a file that show its encoding."""

EAST_ASIAN = dict.fromkeys(("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"), "CJK")
"""Scripts that Japanese words mix, by how the names of their characters begin."""

CHUNK_BYTES = 1 << 20


@contextmanager
def open_input(path: Path) -> Iterator[pa.NativeFile]:
    """Open a file for reading its decompressed bytes.

    Python opens it, since Arrow accepts only UTF-8 names.

    Raises:
        InputError: the file cannot be opened, or its compressed data is damaged or missing.
    """
    try:
        with (
            open_regular(path) as file,
            pa.input_stream(file, compression=compression_of(path)) as stream,
        ):
            yield stream
    except OSError as error:
        compression = compression_of(path)
        # What Arrow says of the data is about its libraries.
        if compression and error.errno is None:
            raise _damage_error(path, compression) from error
        raise _unreadable(path, error) from error


@contextmanager
def open_output(path: Path, compression: Compression | None) -> Iterator[pa.NativeFile]:
    """Open a file for writing bytes, compressing them."""
    with path.open("wb") as file, pa.output_stream(file, compression=compression) as stream:
        yield stream


class FileReader(Reader):
    """A table in a file, which may change while it is read.

    Attributes:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.opened_fingerprint = self.fingerprint()

    def fingerprint(self) -> str:
        """Return the SHA-256 of the file's current bytes; see `Reader.fingerprint`."""
        try:
            return sha256_of(self.path)
        except OSError as error:
            raise _unreadable(self.path, error) from error


class FileWriter:
    """A file that is being written; see `pipeline.tables.table.Writer`."""

    replaced_characters = 0

    _closing: ExitStack
    """Closes all that is open."""

    def close(self, metadata: dict[str, str]) -> None:  # noqa: ARG002 - most formats hold none
        """Finish the file."""
        self._closing.close()

    def abort(self) -> None:
        """Close the unfinished file."""
        self._closing.close()


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, as hexadecimal text."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def spooled(stream: BinaryIO) -> Iterator[Path]:
    """Copy standard input, which can be read only once, to a temporary file.

    The file's suffix follows from its first bytes, decompressed.

    Raises:
        InputError: there is no room for the copy.
    """
    with tempfile.TemporaryDirectory(prefix="tender-pipeline-") as folder:
        copy = Path(folder) / "stdin"
        try:
            with copy.open("wb") as file:
                shutil.copyfileobj(stream, file)
        except OSError as error:
            raise InputError(
                f"Standard input cannot be copied to {copy.parent.parent}: {error.strerror}.",
                "Free some space, or name a larger folder in the variable TMPDIR.",
            ) from error
        path = copy.with_name(f"stdin{_suffix_of(copy)}")
        copy.rename(path)
        yield path


def _suffix_of(path: Path, compression: Compression | None = None) -> str:
    """Return the suffix that the name of a file should have, without that of its compression."""
    match contents_of(first_bytes(path, compression)):
        case Contents(kind="gzip" | "zstd" as packed) if not compression:
            # Damaged data have no first bytes, as opening the file will show.
            return f"{_suffix_of(path, packed)}{'.gz' if packed == 'gzip' else '.zst'}"
        case Contents(kind="Excel") if _has_tables(path):
            return ".zip"
        case Contents(suffix=suffix) if suffix:
            return suffix
    return ".csv"


def _has_tables(path: Path) -> bool:
    """Return whether a file is an archive of tables, and no workbook, which may have some too."""
    with suppress(InputError), _open_archive(path) as archive:
        return "[Content_Types].xml" not in archive.namelist() and bool(_tables(archive))
    return False


def described_encodings(path: Path) -> tuple[str, str]:
    """Return the likeliest encoding that reads all of a file, and a sentence about all likely ones.

    That is the one in which most words are of a single script. The sentence says what each makes
    of a word that is not UTF-8.
    """
    decoders = {name: codecs.getincrementaldecoder(name)() for name in ENCODINGS}
    words: set[bytes] = set()
    with open_input(path) as stream:
        chunk = b"-"
        while chunk:
            chunk = stream.read(CHUNK_BYTES)
            more = filter(_is_not_utf_8, WORD.findall(chunk))
            words.update(islice(more, WORDS - len(words)))
            for name, decoder in [*decoders.items()]:
                try:
                    decoder.decode(chunk, final=not chunk)
                except UnicodeDecodeError:
                    del decoders[name]
    if "utf-8" in decoders:
        return "utf-8", "All of the file is UTF-8."
    likely = {
        name: sum(_is_likely(word.decode(name, "replace")) for word in words) for name in decoders
    }
    names = sorted(likely, key=lambda name: -likely[name])
    shown = max(sorted(words), key=lambda word: len({*word}), default=b"")
    made: dict[str, str] = {}
    for name in names:
        if likely[name] >= likely[names[0]] / 2:
            made.setdefault(quoted(shown.decode(name, "replace")), name)
    in_each = ", ".join(f"{name} {word}" for word, name in made.items())
    return names[0], f"A word of it in encodings that read the whole file: {in_each}."


def _is_not_utf_8(word: bytes) -> bool:
    return "\ufffd" in word.decode("utf-8", "replace")


def _is_likely(word: str) -> bool:
    """Return whether a word has only letters of one script, in a Latin one some of ASCII.

    After the first letter, all are small, or all are capitals.
    """
    begins = {unicodedata.name(char, "").partition(" ")[0] for char in word}
    scripts = {EAST_ASIAN.get(begin, begin) for begin in begins}
    is_foreign = scripts == {"LATIN"} and not any(char.isascii() for char in word)
    has_one_case = word[1:] in (word[1:].lower(), word[1:].upper())
    return word.isalpha() and len(word) > 1 == len(scripts) and not is_foreign and has_one_case


def not_utf_8(path: Path, where: str, error: UnicodeDecodeError) -> InputError:
    """Return the error about a byte of a JSON file, which must be UTF-8."""
    byte = error.object[error.start]
    encoding, readable = described_encodings(path)
    return InputError(
        f"{where}: byte 0x{byte:02X} is not UTF-8.",
        f"Convert the file, since JSON is UTF-8: iconv -f {encoding} -t utf-8 FILE > NEW. "
        f"{readable}",
    )


def _unreadable(path: Path, error: OSError) -> InputError:
    hint = "Check that it exists, is readable and complete."
    return InputError(f"{path} cannot be read: {reason(error)}.", hint)


def _damage_error(path: Path, compression: Compression) -> InputError:
    """Return the error about a file that cannot be decompressed as its name says.

    Raises:
        InputError: it is another kind of file.
    """
    refuse_other_contents(path, compression)
    if contents_of(first_bytes(path)) is None:
        return InputError(
            f"{path} is not compressed with {compression}.", f"Rename it without {path.suffix}."
        )
    return InputError(
        f"{path} cannot be read: its {compression} data are damaged.",
        "Check that the file is complete, such as after a download.",
    )


DAMAGED = (BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError)
"""What reading an archive raises if it is damaged, encrypted, or compressed in an unknown way."""

SPARE = 2**28
"""Bytes of the disk that must stay free."""


def is_archive(path: PurePath) -> bool:
    """Return whether a name is that of a ZIP archive."""
    return path.suffix.lower() == ".zip"


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """Copy the table of an archive to a temporary file; errors name the archive.

    Raises:
        InputError: the archive is damaged, does not hold exactly one table, or holds one that is
            too large.
    """
    with tempfile.TemporaryDirectory(prefix="tender-pipeline-") as folder:
        copy = _unpack_table(path, Path(folder))
        try:
            yield copy
        except PipelineError as error:
            error.message = error.message.replace(str(copy), f"{path} ({copy.name})")
            raise


def archived(path: Path) -> list[str]:
    """Return the names of the tables in an archive, without what systems add to it.

    Raises:
        InputError: the archive is damaged.
    """
    with _open_archive(path) as archive:
        return _tables(archive)


@contextmanager
def _open_archive(path: Path) -> Iterator[ZipFile]:
    try:
        with open_regular(path) as file, ZipFile(file) as archive:
            yield archive
    except DAMAGED as error:
        refuse_other_contents(path, "ZIP")
        raise InputError(
            f"{path} cannot be unpacked: {reason(error)}.",
            f"Unpack it yourself, and give the path of the table. If it is no archive, rename it "
            f"without {path.suffix}.",
        ) from error


def _unpack_table(path: Path, folder: Path) -> Path:
    with _open_archive(path) as archive:
        tables = _tables(archive)
        if len(tables) != 1:
            contents = f"{len(tables)} tables: {listed(tables)}" if tables else "no table"
            raise InputError(
                f"{path} has {contents}.",
                "Unpack it, and give the path of a table or of the folder.",
            )
        _check_size(path, archive.getinfo(tables[0]), folder)
        copy = folder / PurePosixPath(tables[0]).name
        with archive.open(tables[0]) as packed, copy.open("wb") as target:
            shutil.copyfileobj(packed, target)
        return copy


def _check_size(path: Path, table: ZipInfo, folder: Path) -> None:
    """Refuse a table that would fill the disk; no more bytes than its stated size are unpacked."""
    size, free = table.file_size, shutil.disk_usage(folder).free
    if size > free - SPARE:
        raise InputError(
            f"{path} holds {table.filename!r} with {size:,} bytes, and {folder.parent} has "
            f"{free:,} bytes free.",
            "Free some space, name a larger folder in the variable TMPDIR, or unpack it yourself.",
        )


def _tables(archive: ZipFile) -> list[str]:
    files = [info.filename for info in archive.infolist() if not info.is_dir()]
    names = [(name, PurePosixPath(name)) for name in files]
    return [  # a name may be there twice
        name
        for name, inner in names
        if is_table_name(inner) and not inner.name.startswith(HIDDEN)
        if inner.parts[0] != "__MACOSX"
    ]


@contextmanager
def local_table(given: AnyPath, storage: Storage) -> Iterator[tuple[Path, str | None]]:
    """Yield the file of a table, and the version of the object that it is a copy of.

    The file is temporary if the table is an object or in an archive; errors name what was given.

    Raises:
        InputError: the object or the archive cannot be read.
    """
    if not isinstance(given, CloudPath):
        with unpacked(given) if is_archive(given) else nullcontext(given) as path:
            yield path, None
        return
    with storage.local_copy(given) as (copy, version):
        try:
            with local_table(copy, storage) as (path, _):
                yield path, version
        except PipelineError as error:
            error.message = error.message.replace(str(copy), str(given))
            raise
