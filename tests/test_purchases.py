"""Which job a purchase belongs to."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from pipeline.purchases import identity_of_contents, identity_of_files
from pipeline.settings import Settings
from pipeline.tables.arrow import ArrowBatch

SETTINGS = Settings(systems=("cpv", "naics"), text_columns=("title", "text"), limit_rows=3)


def test_the_identity_of_a_job_stays_so_that_a_new_version_continues_it() -> None:
    """With another one, a stopped job would begin again, and what counts as its cost at 0."""
    texts = ["Road works", ""]
    batch = ArrowBatch(texts, pa.record_batch({"text": texts}))
    of_files = identity_of_files(SETTINGS, Path("/srv/in.csv"), Path("/srv/out.csv"))
    assert of_files == "9e18403815688f40ff630e77ce55b90e310a8a5a1762c136825c1b8c2afa1e40"
    assert (
        identity_of_contents(SETTINGS, [batch])
        == "8e080f085eb9769c760905e0485b197a9ee5e4f8f821617a6f1c89cefe413d39"
    )
