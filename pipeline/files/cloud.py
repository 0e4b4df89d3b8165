"""Reads and writes objects in cloud buckets as whole files, with pyarrow's file systems."""

from __future__ import annotations

import errno
import logging
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path, PurePosixPath
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

from pipeline.errors import InputChangedError, InputError, OutputError, SettingsError
from pipeline.files.paths import CloudPath
from pipeline.wording import RUN_AGAIN, THEN_RUN_AGAIN

S3_TIMES = {"connect_timeout": 10.0, "request_timeout": 30.0}
"""Seconds without a connection, and without any data; pyarrow then tries again, twice."""

GCS_TIME = timedelta(seconds=20)
"""How long to try again."""

ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")

LOCAL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES)
"""Errors of this machine; those of a store have no number."""

USUAL = {
    "s": "AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "g": "GOOGLE_APPLICATION_CREDENTIALS, or `gcloud auth application-default login`",
    "a": "AZURE_STORAGE_KEY, or `az login`",
}
"""Where the credentials for a store usually come from, by the first letter of its scheme."""

CREDENTIALS = "Check the credentials: {usual}."

REASONS = (
    (
        r"NO_SUCH_BUCKET|Bucket .* not found|ContainerNotFound|bucket does not exist",
        "there is no such bucket",
        "Check the name of the bucket, and the variable AWS_ENDPOINT_URL if it is not Amazon's.",
    ),
    (
        r"NO_SUCH_KEY|RESOURCE_NOT_FOUND|BlobNotFound|NOT_FOUND|Path does not exist",
        "there is no such object",
        "Check the address; upper and lower case differ.",
    ),
    (
        r"INVALID_ACCESS_KEY|INVALID_CLIENT_TOKEN|SIGNATURE|EXPIRED|UNRECOGNIZED_CLIENT|UNAUTHENTI"
        r"|InvalidToken|ExpiredToken|OAuth2|Credential|AuthenticationFailed|Could not find.*creden",
        "the store refuses the credentials, or there are none",
        CREDENTIALS,
    ),
    (
        r"ACCESS_DENIED|PERMISSION_DENIED|Authorization|HTTP status 40[13]|\b403\b",
        "access is denied",
        f"{CREDENTIALS} Check that they may read, list and write there.",
    ),
    (
        r"SLOW_DOWN|THROTTL|TOO_MANY|REQUEST_LIMIT|ServerBusy|HTTP status (429|503)|UNAVAILABLE",
        "the store is too busy (throttling), and still was after several attempts",
        f"Wait a little, and {THEN_RUN_AGAIN} again.",
    ),
    (
        r"HTTP status 30[17]|PERMANENT_REDIRECT",
        "the bucket is in another region",
        "Set AWS_REGION to the region of the bucket.",
    ),
    (
        r"Failed to flush response stream",  # what Amazon's library makes of errors for short reads
        "the store refused, because access is denied or it is too busy",
        f"{CREDENTIALS} If they are right, {THEN_RUN_AGAIN} again.",
    ),
    (
        r"NETWORK_CONNECTION|[Cc]url|[Rr]esolve|[Cc]onnection|[Tt]imed? ?out|transport",
        "the store does not answer, or the connection was cut",
        f"Check the network and the variable AWS_ENDPOINT_URL, and {THEN_RUN_AGAIN} again.",
    ),
)
"""What errors of the stores say, what that means, and what to do."""


def opened(scheme: str, bucket: str) -> tuple[Any, str]:
    """Return the file system of a bucket, and the bucket's path in it.

    Raises:
        SettingsError: the endpoint is not an address, or the storage account is missing.
        OSError: the store cannot be asked.
    """
    match scheme:
        case "s3":
            return _s3(bucket), bucket
        case "gs" | "gcs":
            from pyarrow.fs import GcsFileSystem

            return GcsFileSystem(retry_time_limit=GCS_TIME), bucket
        case _:
            return _azure(bucket)


def explained(error: Exception, scheme: str) -> tuple[str, str]:
    """Return the reason for an error of a store, and what to do."""
    if isinstance(error, OSError) and error.errno in LOCAL:
        where = tempfile.gettempdir()
        return (
            f"there is no room for a copy in {where} ({error.strerror})",
            "Free some space, or set TMPDIR to a folder with more.",
        )
    text = str(error)
    for pattern, reason, hint in REASONS:
        if re.search(pattern, text):
            return reason, hint.format(usual=USUAL[scheme[0]])
    return " ".join(text.split())[:200], "Check the address, the credentials and the network."


def _s3(bucket: str) -> Any:
    from pyarrow.fs import S3FileSystem, resolve_s3_region

    region = next(filter(None, map(os.environ.get, REGIONS)), None)
    endpoint_url = next(filter(None, map(os.environ.get, ENDPOINTS)), None)
    options = {**S3_TIMES, "allow_delayed_open": True}
    if endpoint_url is None:
        return S3FileSystem(region=region or resolve_s3_region(bucket), **options)
    url = urlsplit(endpoint_url)
    if url.scheme not in ("http", "https") or not url.netloc or url.username or url.query:
        raise SettingsError(
            "The address of the S3-compatible server is not valid, or has credentials in it.",
            "Set the variable AWS_ENDPOINT_URL to https://HOST:PORT.",
        )
    endpoint = url.netloc + url.path.rstrip("/")
    return S3FileSystem(endpoint_override=endpoint, scheme=url.scheme, region=region, **options)


def _azure(bucket: str) -> tuple[Any, str]:
    from pyarrow import fs

    container, _, host = bucket.partition("@")
    account, _, domain = host.partition(".")
    account = account or os.environ.get("AZURE_STORAGE_ACCOUNT", "")
    if not account or not container:
        raise SettingsError(
            f"abfs://{bucket} does not name a storage account.",
            "Write abfs://CONTAINER@ACCOUNT.dfs.core.windows.net/FILE, or set "
            "AZURE_STORAGE_ACCOUNT.",
        )
    core = domain.partition(".")[2]
    hosts = {f"{kind}_storage_authority": f".{kind}.{core}" for kind in ("blob", "dfs") if core}
    key = os.environ.get("AZURE_STORAGE_KEY")
    files = fs.AzureFileSystem(account_name=account, account_key=key, **hosts)
    # Without credentials, opening a file would end the process; this raises an error.
    files.get_file_info(f"{container}/-")
    return files, container


Found = TypeVar("Found")

log = logging.getLogger("pipeline")

CHUNK = 16 * 2**20
"""How much of an object is read at once, bytes: each chunk is a request."""


@dataclass(frozen=True)
class Storage:
    """Access to buckets, with credentials from the usual places of each store.

    An S3-compatible server other than Amazon's is the one that ``AWS_ENDPOINT_URL`` names.

    Raises:
        InputError, OutputError: methods that read and methods that write, if the store refuses.
    """

    _systems: dict[tuple[str, str], tuple[Any, str]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def kind(self, path: CloudPath) -> Literal["file", "folder"] | None:
        """Return what is at an address; None for nothing."""
        from pyarrow.fs import FileType

        kinds: dict[Any, Literal["file", "folder"]]
        kinds = {FileType.File: "file", FileType.Directory: "folder"}
        with self._ask(path) as (files, key):
            return kinds.get(files.get_file_info(key).type)

    def files(self, folder: CloudPath) -> list[CloudPath]:
        """Return the objects in a folder and in the folders below, in order."""
        from pyarrow.fs import FileSelector, FileType

        with self._ask(folder) as (files, key):
            infos = files.get_file_info(FileSelector(key, recursive=True))
        paths = sorted(info.path for info in infos if info.type == FileType.File)
        return [folder / PurePosixPath(path).relative_to(key) for path in paths]

    def version(self, path: CloudPath) -> str | None:
        """Return what identifies the content of an object; None if there is no object.

        It is the entity tag, which changes when the object is written.
        """
        return self._read_open(path, _version)

    def read(self, path: CloudPath) -> bytes | None:
        """Return the content of a small object; None if there is no object."""
        return self._read_open(path, lambda file: bytes(file.read()))

    def _read_open(self, path: CloudPath, find: Callable[[Any], Found]) -> Found | None:
        with self._ask(path) as (files, key):
            try:
                with files.open_input_file(key) as file:
                    return find(file)
            except FileNotFoundError:
                return None

    @contextmanager
    def local_copy(self, path: CloudPath) -> Iterator[tuple[Path, str]]:
        """Copy an object to a temporary file; yield the file, and the version of the object.

        Raises:
            InputError: there is no such object, or it cannot be read to its end.
            InputChangedError: it changed while it was read.
        """
        with tempfile.TemporaryDirectory(prefix="tender-pipeline-") as folder:
            copy = Path(folder) / path.name
            yield copy, self._download(path, copy)

    def _download(self, path: CloudPath, copy: Path) -> str:
        with (
            self._ask(path) as (files, key),
            files.open_input_file(key) as file,
            copy.open("wb") as local,
        ):
            version = _version(file)
            log.info("%s: reading %s bytes", path, f"{file.size():,}")
            shutil.copyfileobj(file, local, CHUNK)
        if self.version(path) != version:
            raise InputChangedError(
                f"{path} changed while it was being read; nothing was done.", f"{RUN_AGAIN} again."
            )
        return version

    def upload(self, source: Path, path: CloudPath) -> str:
        """Replace an object by a local file in one step, and return its version.

        Raises:
            OutputError: the object cannot be written; an older one is still there.
        """
        import pyarrow as pa

        with pa.memory_map(os.fspath(source)) as file:
            return self.write(file.read_buffer(), path)

    def write(self, content: Any, path: CloudPath) -> str:
        """Replace an object by bytes, or by a buffer; see `upload`."""
        with self._ask(path, OutputError) as (files, key):
            stream = files.open_output_stream(key)
            # All at once: an interrupt between two writes would leave half an object, because
            # pyarrow completes it also when the stream is only deleted, unless a write failed.
            stream.write(content)
            stream.close()
            with files.open_input_file(key) as file:
                return _version(file)

    def delete(self, path: CloudPath) -> None:
        """Delete an object."""
        with self._ask(path, OutputError) as (files, key):
            files.delete_file(key)

    @contextmanager
    def _ask(
        self, path: CloudPath, kind: type[InputError | OutputError] = InputError
    ) -> Iterator[tuple[Any, str]]:
        """Yield the file system of an address and the path in it, and translate its errors."""
        import pyarrow as pa
        from pyarrow.fs import FileType

        what = "written" if kind is OutputError else "read"
        try:
            files, root = self._system(path)
            try:
                yield files, "/".join([root, path.key]).rstrip("/")
            except FileNotFoundError as error:
                if files.get_file_info(root).type == FileType.NotFound:
                    raise OSError("NO_SUCH_BUCKET") from error
                raise
        except (OSError, ValueError, pa.ArrowException) as error:
            reason, hint = explained(error, path.scheme)
            raise kind(f"{path} cannot be {what}: {reason}.", hint) from error

    def _system(self, path: CloudPath) -> tuple[Any, str]:
        """Return the file system of a bucket, and the bucket's path in it."""
        bucket = path.scheme, path.bucket
        if bucket not in self._systems:
            self._systems[bucket] = opened(*bucket)
        return self._systems[bucket]


def _version(file: Any) -> str:
    """Return the entity tag of an open object."""
    facts = {name.lower(): value for name, value in file.metadata().items()}
    return str(facts["etag"].decode().strip('"'))
