"""An S3-compatible server on loopback, with a bucket and a table in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pipeline.files.cloud import Storage
from pipeline.files.paths import CloudPath
from tests.files.object_store import ObjectStore, serving
from tests.paid.conftest import service

__all__ = ["service"]

SECRET = "qT3-secret-access-key"
BUCKET = CloudPath("s3:", "bucket")
TABLE, OUTPUT = BUCKET / "in" / "t.csv", BUCKET / "out" / "t.csv"
MANIFEST = OUTPUT.with_name("t.csv.manifest.json")
ENGINE = ("--systems", "psc")
TEXT = b"id;description\r\n007;Road marking\r\n008;\r\n009;Office chairs\r\n" * 20


@pytest.fixture(scope="session")
def server() -> Iterator[ObjectStore]:
    pytest.importorskip("moto", reason="the extra engines has the server of the buckets")
    with serving() as store:
        yield store


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture
def store(server: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    """Return the server with one table in its bucket."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
    server.reset("bucket")
    storage = Storage()
    storage.write(TEXT, TABLE)
    server.requests.clear()
    return server


@pytest.fixture
def storage(store: ObjectStore) -> Storage:
    return Storage()
