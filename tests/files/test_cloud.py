"""Addresses of objects, and what access to buckets refuses."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs
import pytest

from pipeline.errors import InputError, SettingsError
from pipeline.files.cloud import Storage, explained
from pipeline.files.paths import CloudPath, as_path


@pytest.mark.parametrize(
    ("given", "scheme", "bucket", "key"),
    [
        ("s3://b/data/t.csv.gz", "s3", "b", "data/t.csv.gz"),
        ("S3://b/data/", "s3", "b", "data"),
        ("s3:/b/x", "s3", "b", "x"),  # as pathlib.Path changes it
        ("gs://b/a b?/[1].csv", "gs", "b", "a b?/[1].csv"),
        ("abfs://c@a.dfs.core.windows.net/x:/y", "abfs", "c@a.dfs.core.windows.net", "x:/y"),
    ],
)
def test_an_address_has_a_scheme_a_bucket_and_a_key(
    given: str, scheme: str, bucket: str, key: str
) -> None:
    path = as_path(given)
    assert isinstance(path, CloudPath)
    assert (path.scheme, path.bucket, path.key) == (scheme, bucket, key)
    assert str(path) == os.fspath(path) == f"{scheme}://{bucket}/{key}"
    assert as_path(str(path)) == pickle.loads(pickle.dumps(path)) == path
    assert str(path.parent / "o" / Path("y/z.csv")) == f"{path.parent}/o/y/z.csv"
    assert str(path.with_name("n")) == f"{path.parent}/n"


@pytest.mark.parametrize("given", ["t.csv", "/a/s3://b/t.csv", "a:b", "C:/t.csv", "-", "s3", "s3:"])
def test_other_paths_are_files(given: str) -> None:
    assert as_path(given) == Path(given)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("https://me:secret@x/t.csv", "https:// are not supported"),
        ("s3://key:secret@b/t.csv", "has credentials in it"),
        ("abfs://c:secret@a/t.csv", "has credentials in it"),
        ("s3://", "not the address of an object"),
        ("s3:///t.csv", "not the address of an object"),
        ("s3://b//t.csv", "not the address of an object"),
        ("s3://b/../t.csv", "not the address of an object"),
    ],
)
def test_a_wrong_address_is_refused_without_its_secrets(given: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said) as caught:
        as_path(given)
    assert "secret" not in str(caught.value)


def test_an_empty_path_is_not_the_current_folder() -> None:
    with pytest.raises(SettingsError, match="The path is empty"):
        as_path("")


@pytest.mark.parametrize("url", ["minio:9000", "ftp://minio", "https://", "https://k:secret@minio"])
def test_a_wrong_endpoint_is_refused_without_its_secrets(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)
    with pytest.raises(SettingsError, match="to https://HOST:PORT") as caught:
        Storage().version(CloudPath("s3:", "b", "t.csv"))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("scheme", "text", "reason", "hint"),
    [
        ("s3", "AWS Error UNKNOWN (HTTP status 503) during HeadObject", "throttling", "again"),
        ("s3", "AWS Error ACCESS_DENIED during PutObject", "access is denied", "AWS_PROFILE"),
        ("s3", "AWS Error EXPIRED_TOKEN during", "refuses the credentials", "AWS_PROFILE"),
        ("s3", "AWS Error UNKNOWN (HTTP status 301)", "another region", "AWS_REGION"),
        ("gs", "UNAVAILABLE: Could not create a OAuth2", "refuses the credentials", "gcloud"),
        ("gs", "PERMISSION_DENIED: x does not have", "access is denied", "gcloud"),
        ("abfs", "no token from DefaultAzureCredential", "or there are none", "az login"),
        ("abfs", "Azure Error: [ContainerNotFound] 404", "no such bucket", "name of the bucket"),
        ("abfs", "Could not resolve hostname", "does not answer", "network"),
        ("s3", "Something\n new", "Something new", "network"),
    ],
)
def test_an_error_of_a_store_says_what_happened_and_what_to_do(
    scheme: str, text: str, reason: str, hint: str
) -> None:
    found = explained(OSError(text), scheme)
    assert reason in found[0]
    assert hint in found[1]


def test_a_full_disk_is_not_an_error_of_the_store() -> None:
    reason, hint = explained(OSError(28, "No space left on device"), "s3")
    assert "no room for a copy" in reason
    assert "TMPDIR" in hint


class Azure:
    """Stands for pyarrow's file system of Azure, which no server here can."""

    made: dict[str, Any]

    def __init__(self, **options: Any) -> None:
        Azure.made = options

    def get_file_info(self, path: str) -> Any:
        raise pa.ArrowException("Failed to get token from DefaultAzureCredential.")


def test_an_azure_address_names_the_account_and_fails_before_pyarrow_would_crash(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pyarrow.fs, "AzureFileSystem", Azure, raising=False)
    monkeypatch.setenv("AZURE_STORAGE_KEY", "secret")
    address = as_path("abfs://c@acme.dfs.core.usgovcloudapi.net/t.csv")
    assert isinstance(address, CloudPath)
    with pytest.raises(InputError, match=r"acme.*or there are none") as caught:
        Storage().version(address)
    assert "secret" not in str(caught.value)
    assert Azure.made == {
        "account_name": "acme",
        "account_key": "secret",
        "blob_storage_authority": ".blob.core.usgovcloudapi.net",
        "dfs_storage_authority": ".dfs.core.usgovcloudapi.net",
    }
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT", raising=False)
    with pytest.raises(SettingsError, match="does not name a storage account"):
        Storage().version(CloudPath("abfs:", "c", "t.csv"))
