"""OCDS: packages keep their bytes, codes go into tenders, the output stays valid."""

from __future__ import annotations

import io
import json
import logging
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import InputError, OutputError
from pipeline.tables.formats import (
    format_of,
    open_reader,
    open_writer,
    output_format_of,
    read_table,
)
from pipeline.tables.json_reader import JsonText
from pipeline.tables.ocds import _outermost, elements
from pipeline.tables.table import NewColumn
from tests.tables.rewriting import folder, rewrite, rewrite_all, texts_of

FIELDS = [
    pa.field("cpv_code", pa.string()),
    pa.field("cpv_title", pa.string()),
    pa.field("cpv_status", pa.string()),
    pa.field("unspsc_code", pa.string()),
    pa.field("unspsc_title", pa.string()),
    pa.field("cost_usd", pa.decimal128(38, 24)),
]

ROW = ("45233140", "Roadworks", "review", "72141000", "Highways", Decimal("0.1"))

CPV = {"scheme": "CPV", "id": "45233140", "description": "Roadworks"}
UNSPSC = {"scheme": "UNSPSC", "id": "72141000", "description": "Highways"}


def release(tender: Any, **more: Any) -> dict[str, Any]:
    about = {"ocid": "ocds-x-1", "id": "1", "date": "2024-01-01T00:00:00Z", "tag": ["tender"]}
    about |= {"initiationType": "tender"}
    return {**about, **({} if tender is None else {"tender": tender}), **more}


def package(*releases: Any, key: str = "releases") -> dict[str, Any]:
    return {"uri": "https://x.example", "publishedDate": "2024", key: list(releases), "links": []}


def rewritten(place: Path, data: bytes, name: str = "t.json") -> bytes:
    (place / name).write_bytes(data)
    reader = open_reader(place / name, ["description"])
    return rewrite_all(reader, place / f"out.{name}", ROW, "ocds", FIELDS)


def tender_after(place: Path, tender: Any) -> Any:
    found = json.loads(rewritten(place, json.dumps(release(tender)).encode()))
    assert found["tender_pipeline"]["cpv_status"] == "review"
    assert found["tender_pipeline"]["cost_usd"] == "0.1"
    return found.get("tender")


@pytest.mark.parametrize(
    ("tender", "added"),
    [
        ({"id": "t"}, {"classification": CPV, "additionalClassifications": [UNSPSC]}),
        (
            {"id": "t", "classification": {"scheme": "X", "id": 1}},
            {"additionalClassifications": [CPV, UNSPSC]},
        ),
        (
            {"id": "t", "additionalClassifications": []},
            {"classification": CPV, "additionalClassifications": [UNSPSC]},
        ),
        (
            {"id": "t", "classification": {}, "additionalClassifications": [{"scheme": "X"}]},
            {"additionalClassifications": [{"scheme": "X"}, CPV, UNSPSC]},
        ),
        (
            {"id": "t", "classification": {"scheme": "CPV", "id": "45233140-2"}},
            {"additionalClassifications": [UNSPSC]},
        ),
        ({"id": "t", "classification": CPV, "additionalClassifications": [UNSPSC]}, {}),
        ({"id": "t", "classification": CPV, "additionalClassifications": [{**UNSPSC, "x": 1}]}, {}),
    ],
)
def test_codes_are_added_to_a_tender_and_the_rest_is_unchanged(
    tmp_path: Path, tender: dict[str, Any], added: dict[str, Any]
) -> None:
    assert tender_after(tmp_path, tender) == {**tender, **added}


def test_without_a_tender_or_with_a_list_that_is_null_codes_are_only_beside_it(
    tmp_path: Path,
) -> None:
    assert tender_after(tmp_path, None) is None
    text = json.dumps(
        release({"id": "t", "classification": CPV, "additionalClassifications": None})
    )
    found = json.loads(rewritten(tmp_path, text.encode()))
    assert found["tender"]["additionalClassifications"] is None
    assert found["tender_pipeline"]["unspsc_code"] == "72141000"


def test_the_text_is_what_tender_lots_and_items_say_once_each(tmp_path: Path) -> None:
    tender = {
        "title": "Roads",
        "description": "Works on roads",
        "lots": [{"title": "Roads", "description": "North"}, {"title": "South"}],
        "items": [{"description": "Asphalt"}, {"id": "2"}],
    }
    (tmp_path / "t.json").write_text(json.dumps(package(release(tender), release(None))))
    (batch,) = open_reader(tmp_path / "t.json", ["description"]).batches()
    assert batch.texts == ["Roads. Works on roads. South. North. Asphalt", ""]
    (batch,) = open_reader(tmp_path / "t.json", ["tender.items.description"]).batches()
    assert batch.texts == ["Asphalt", ""]
    assert batch.to_arrow().to_pylist()[1] == {"ocid": "ocds-x-1", "release_id": "1", "text": ""}


def test_of_a_record_the_compiled_release_or_else_the_last_one_is_classified(
    tmp_path: Path,
) -> None:
    old, new = release({"id": "t", "title": "Old"}), release({"id": "t", "title": "New"})
    link = {"url": "https://x.example/1", "tag": ["award"]}
    records = [
        {"ocid": "1", "releases": [old, link], "compiledRelease": new},
        {"ocid": "2", "releases": [new, old, link]},
        {"ocid": "3", "releases": [link]},
    ]
    data = json.dumps(package(*records, key="records")).encode()
    found = json.loads(rewritten(tmp_path, data))["records"]
    (batch,) = open_reader(tmp_path / "t.json", ["description"]).batches()
    assert batch.texts == ["New", "Old", ""]
    assert found[0]["compiledRelease"]["tender"]["classification"] == CPV
    assert found[0]["releases"] == [old, link]
    assert [r.get("tender", {}).get("classification") for r in found[1]["releases"]] == [
        None,
        CPV,
        None,
    ]
    assert found[2].keys() == {"ocid", "releases", "tender_pipeline"}


SPACES = st.sampled_from([None, 1, "\t"])


@settings(max_examples=25)
@given(
    st.lists(st.sampled_from(["release", "package", "records", "empty"]), min_size=1, max_size=4),
    SPACES,
    st.integers(5, 500),
    st.integers(1, 3),
    st.booleans(),
)
def test_every_byte_comes_back_in_its_place(
    kinds: list[str], indent: Any, chunk: int, rows: int, in_list: bool
) -> None:
    one = release({"id": "t", "title": 'A "quoted" \\ {text] é', "value": {"amount": 1}})
    made = {
        "release": one,
        "package": package(one, release(None)),
        "records": package({"ocid": "2", "compiledRelease": one}, key="records"),
        "empty": package(),
    }
    between = "\r\n,\r\n" if in_list else "\r\n"
    data = between.join(json.dumps(made[kind], indent=indent) for kind in kinds).encode()
    data = b"[ %b ]" % data if in_list else data
    data = data.replace(b'"amount": 1', b'"amount": 1.10') + b"\n"
    with folder() as place, pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipeline.tables.json_reader.CHUNK_BYTES", chunk)
        patch.setattr("pipeline.tables.table.BATCH_ROWS", rows)
        output = rewritten(place, data)
        found = list(elements(place / "t.json"))
        assert b"".join(each.before + each.raw for each in found) == data
        assert [json.loads(each.raw) for each in found[:-1]] == [
            each for kind in kinds for each in pieces(made[kind])
        ]
    left = iter(output)
    assert all(byte in left for byte in data)
    assert output.count(b'"tender_pipeline"') == sum(len(pieces(made[kind])) for kind in kinds)


def pieces(value: dict[str, Any]) -> list[Any]:
    """Return the releases or records, with amounts as the test writes them."""
    text = json.dumps(value).replace('"amount": 1', '"amount": 1.10')
    found: Any = json.loads(text)
    return list(found.get("releases", found.get("records", [found])))


def test_a_sample_of_a_list_of_packages_is_one(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps([package(*[release(None)] * 3)]))
    reader = open_reader(tmp_path / "t.json", ["description"])
    (batch,) = reader.batches(1)
    writer = open_writer(tmp_path / "o", "o.json", "ocds", reader, FIELDS)
    writer.write(batch, [NewColumn("cpv_status", pa.string(), ["ok"])])
    writer.close({})
    assert json.loads((tmp_path / "o").read_bytes())[0]["releases"][0]["ocid"] == "ocds-x-1"


def test_an_empty_list_has_no_releases(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_bytes(b"[\n]\n")
    reader = open_reader(tmp_path / "t.json", ["description"], None, "ocds")
    rewrite(reader, tmp_path / "o.json", [], "ocds")
    assert (tmp_path / "o.json").read_bytes() == b"[\n]\n"


@pytest.mark.parametrize("theirs", [{}, {"ocid": "2"}])
def test_what_an_earlier_run_added_is_a_column_and_stays(
    tmp_path: Path, theirs: dict[str, str]
) -> None:
    theirs = release({"id": "t"}, tender_pipeline=theirs)
    first = rewritten(tmp_path, json.dumps(theirs).encode())
    second = json.loads(rewritten(tmp_path, first, "u.jsonl").replace(b"\\u", b""))
    table = read_table(tmp_path / "u.jsonl", "ocds")
    assert table.column_names[3:] == [field.name for field in FIELDS]
    assert table["cpv_code"].to_pylist() == ["45233140"]
    assert second["tender"]["additionalClassifications"] == [UNSPSC]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (json.dumps(release({})), "ocds"),
        (json.dumps({"ocid": "1", "compiledRelease": {}}), "ocds"),
        (json.dumps(package(release(None))), "ocds"),
        (json.dumps(package(), indent=2), "ocds"),
        (json.dumps([release({})]), "ocds"),
        (json.dumps([package(release(None))], indent=2), "ocds"),
        ('{"ocid": "x", "title": "y"}', "jsonl"),
        ('{"tender": {"title": "y"}}', "jsonl"),
        ('{"releases": ["1.0"], "description": "y"}', "jsonl"),
        ('{"title": "x",\n "year": 2024}', "jsonl"),
        ("[[1], [2]]", "jsonl"),
        ('[\n {"id": 1.10}\n, {}]', "jsonl"),
        ("[]", "jsonl"),
    ],
)
def test_the_first_bytes_tell_ocds_from_json_lines(
    tmp_path: Path, data: str, expected: str
) -> None:
    for name in ("t.json", "t.jsonl"):
        (tmp_path / name).write_text(data)
        assert format_of(tmp_path / name) == expected
        assert format_of(tmp_path / name, "jsonl") == "jsonl"
    assert output_format_of(Path("o.jsonl"), input_format="ocds") == "ocds"
    assert output_format_of(Path("o.json"), input_format="jsonl") == "jsonl"
    assert output_format_of(Path("o.json"), input_format="csv") == "ocds"


@pytest.mark.parametrize(
    ("data", "message", "hint"),
    [
        (b'[{"ocid": "1"}, {"ocid": "2"}', "release 3: it is cut off", "complete"),
        (b'[[{"ocid": "1"}]]', "release 1: unexpected text: '[{", ""),
        (b'{"ocid": "1"} [{"ocid": "2"}]', "release 2: unexpected text: '[{", ""),
        (b'{"ocid": "1",}', "release 1: unexpected text: '}'", ""),
        (b'{"ocid": "1", 2: 3}', "release 1: unexpected text: '2: 3}'", ""),
        (b'{"publisher": 1, "releases": [{"ocid": "1"}', "release 2: it is cut off", "complete"),
        (b'{"publisher": 1, "releases": [{"ocid": "1"}]}}', "unexpected text: '}'", "complete"),
        (b'{"publisher": 1, "releases": [{"ocid": "1"} {"ocid": "2"}]}', "text: '{", ""),
        (b'{"publisher": 1, "releases": [{"ocid": "1"}, 2]} x', "release 2: it is a number", ""),
        (b'{"publisher": 1, "releases": [{"ocid": "1"}, {"id": "2"}]}', "release 2: it has no", ""),
        (b'{"publisher": 1, "releases": [{"ocid": "1", "a": }]}', "release 1: Expecting value", ""),
        (b'{"releases": [{"ocid": "1"}], "releases": []}', "the key 'releases' occurs twice", ""),
        (
            b'{"ocid": "1", "tender": {"title": {"en": "x"}}}',
            "release 1: 'tender.title' is an",
            "--text",
        ),
        (b'{"ocid": "1", "ocid": "2", "tender": {}}', "the key 'ocid' occurs twice", ""),
        (b'{"ocid": "\xff", "tender": {}}', "release 1: byte 0xFF is not UTF-8", ""),
        (b'{\n "a": 1\n}', "release 1: it has no ocid", "jq .results FILE"),
        (b'{"ocid": "1', "release 1: it is cut off", "complete"),
        (b'{"ocid": "1", "tender_pipeline": []}', "its tender_pipeline is not an object", ""),
        (b'{"publisher": "\xff", "releases": [{"ocid": "1"}]}', "release 1: byte 0xFF", "iconv"),
    ],
)
def test_bad_data_are_errors_that_name_file_and_release(
    tmp_path: Path, data: bytes, message: str, hint: str
) -> None:
    (tmp_path / "t.json").write_bytes(data)
    with pytest.raises(InputError) as caught:
        list(open_reader(tmp_path / "t.json", ["description"], None, "ocds").batches())
    assert caught.value.message.startswith(str(tmp_path / "t.json"))
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_other_tables_cannot_become_ocds(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"a\n1\n")
    with pytest.raises(OutputError, match=r"Only OCDS data can be written as OCDS \(\.json\)"):
        rewrite(open_reader(tmp_path / "t.csv", ()), tmp_path / "o.json", [], "ocds")


def test_a_package_is_read_in_chunks_of_the_same_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.tables.json_reader.CHUNK_BYTES", 1000)
    file = io.BytesIO(json.dumps(package(*[release(None)] * 500)).encode())
    sizes: list[int] = []

    def read(most: int) -> bytes:
        chunk = file.read(most)
        sizes.append(len(chunk))
        return chunk

    assert sum(1 for _ in _outermost(JsonText(read))) == 500
    assert max(sizes) == 1000


TENDER = {"id": "t", "title": "Desks", "lots": [{"title": "Oak desks"}]}


def texts(place: Path, columns: list[str], *tenders: Any) -> list[str]:
    path = place / "t.json"
    path.write_text(json.dumps(package(*map(release, tenders))))
    reader = open_reader(path, columns)
    found = texts_of(reader)
    assert texts_of(reader) == found
    return found


def test_a_misspelt_one_is_refused_and_the_right_one_suggested(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"t.json has no column 'tender.tilte'") as caught:
        texts(tmp_path, ["tender.tilte"], None, TENDER)
    assert caught.value.hint == "Did you mean 'tender.title'? Use --text-column 'tender.title'."


def test_beside_another_one_it_is_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert texts(tmp_path, ["tender.title", "tender.procedure"], TENDER) == ["Desks"]
    assert [each.split(": ")[1] for each in caplog.messages] == [
        "no row has the text column 'tender.procedure'."
    ]


def test_one_release_that_has_it_is_enough_and_none_with_a_tender_misses_it(tmp_path: Path) -> None:
    assert texts(tmp_path, ["tender.lots.title"], {"id": "t"}, TENDER) == ["", "Oak desks"]
    assert texts(tmp_path, ["tender.title"], None, None) == ["", ""]
