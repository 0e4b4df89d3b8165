"""Opens pyarrow's file systems for buckets, and explains their errors."""

from __future__ import annotations

import errno
import os
import re
import tempfile
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from pipeline.errors import SettingsError

__all__ = ["explained", "opened"]

S3_TIMES = {"connect_timeout": 10.0, "request_timeout": 30.0}
"""Seconds without a connection, and without any data; pyarrow then tries again, twice."""

GCS_TIME = timedelta(seconds=20)
"""How long to try again."""

ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")

LOCAL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES)
"""Errors of this machine; those of a store have no number."""

USUAL = {
    "s3": "AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS, or `gcloud auth application-default login`",
    "gc": "GOOGLE_APPLICATION_CREDENTIALS, or `gcloud auth application-default login`",
    "ab": "AZURE_STORAGE_KEY, or `az login`",
}
"""Where the credentials for a store usually come from."""

CREDENTIALS = "Check the credentials: {usual}."

REASONS = (
    (
        r"NO_SUCH_BUCKET|Bucket .* not found|ContainerNotFound|bucket does not exist",
        "there is no such bucket",
        "Check the name of the bucket, and --endpoint-url if the bucket is not Amazon's.",
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
        "Wait a little, and run the same command again.",
    ),
    (
        r"HTTP status 30[17]|PERMANENT_REDIRECT",
        "the bucket is in another region",
        "Set AWS_REGION to the region of the bucket.",
    ),
    (
        r"Failed to flush response stream",  # what Amazon's library makes of errors for short reads
        "the store refused, because access is denied or it is too busy",
        f"{CREDENTIALS} If they are right, run the same command again.",
    ),
    (
        r"NETWORK_CONNECTION|[Cc]url|[Rr]esolve|[Cc]onnection|[Tt]imed? ?out|transport",
        "the store does not answer, or the connection was cut",
        "Check the network and --endpoint-url, and run the same command again.",
    ),
)
"""What errors of the stores say, what that means, and what to do."""


def opened(scheme: str, bucket: str, endpoint_url: str | None) -> tuple[Any, str]:
    """Return the file system of a bucket, and the bucket's path in it.

    Raises:
        SettingsError: the endpoint is not an address, or the storage account is missing.
        OSError: the store cannot be asked.
    """
    match scheme:
        case "s3":
            return _s3(bucket, endpoint_url), bucket
        case "gs" | "gcs":
            return _gcs(), bucket
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
            return reason, hint.format(usual=USUAL[scheme[:2]])
    return " ".join(text.split())[:200], "Check the address, the credentials and the network."


def _s3(bucket: str, endpoint_url: str | None) -> Any:
    from pyarrow.fs import S3FileSystem, resolve_s3_region

    region = next(filter(None, map(os.environ.get, REGIONS)), None)
    endpoint_url = endpoint_url or next(filter(None, map(os.environ.get, ENDPOINTS)), None)
    options = {**S3_TIMES, "allow_delayed_open": True}
    if endpoint_url is None:
        return S3FileSystem(region=region or resolve_s3_region(bucket), **options)
    url = urlsplit(endpoint_url)
    if url.scheme not in ("http", "https") or not url.netloc or url.username or url.query:
        raise SettingsError(
            "The address of the S3-compatible server is not valid, or has credentials in it.",
            "Write --endpoint-url https://HOST:PORT, or the same in AWS_ENDPOINT_URL.",
        )
    place = url.netloc + url.path.rstrip("/")
    return S3FileSystem(endpoint_override=place, scheme=url.scheme, region=region, **options)


def _gcs() -> Any:
    from pyarrow.fs import GcsFileSystem

    return GcsFileSystem(retry_time_limit=GCS_TIME)


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
    hosts = {f"{each}_storage_authority": f".{each}.{core}" for each in ("blob", "dfs") if core}
    key = os.environ.get("AZURE_STORAGE_KEY")
    files = fs.AzureFileSystem(account_name=account, account_key=key, **hosts)
    # Without credentials, opening a file would end the process; this raises an error.
    files.get_file_info(f"{container}/-")
    return files, container
