from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.codes import load, remove
from pipeline.codes.shipped import shipped
from pipeline.codes.unspsc_file import add
from pipeline.errors import CodeTableError
from tests.files.spreadsheet import Cell, write_xlsx

OFFICIAL: dict[str, Cell] = {
    "Version": "UNv260801",
    "Key": 100085,
    "Segment": 10000000,
    "Segment Title": "Live Plant & Animal Material",
    "Segment Definition": "Life",
    "Family": 10100000.0,
    "Family Title": "Live  animals",
    "Family Definition": "",
    "Class": "10101500",
    "Class Title": "Livestock",
    "Class Definition": "",
    "Commodity": 10101501,
    "Commodity Title": "Cats, tame",
    "Definition": "A small animal",
}
HEADER, LINE = list(OFFICIAL), list(OFFICIAL.values())

TITLES = {
    "10000000": "Live Plant & Animal Material",
    "10100000": "Live animals",
    "10101500": "Livestock",
    "10101501": "Cats, tame",
}


@pytest.fixture(autouse=True)
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data"


def csv_file(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "unspsc.csv"
    path.write_text(text, encoding)
    return path


def official_csv(delimiter: str = ",") -> str:
    rows: list[Sequence[Cell]] = [["Notice: for the use of members"], [], HEADER, LINE]
    quoted = [delimiter.join(f'"{cell}"' for cell in row) for row in rows]
    return "\r\n".join(quoted)


def test_the_official_spreadsheet_has_a_notice_above_its_header_and_codes_as_numbers(
    tmp_path: Path,
) -> None:
    segment_only = [*LINE[:4], *[""] * 10]
    file = tmp_path / "UNSPSC English.xlsx"
    write_xlsx(file, {1: ["UNSPSC"], 3: ["Notice"], 13: HEADER, 14: segment_only, 15: LINE})
    table = add(file)
    assert dict(table.titles) == TITLES
    assert table.source == "your file UNSPSC English.xlsx"
    assert table.edition.startswith("added 20")


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_official_layout_may_be_csv_whatever_splits_it(tmp_path: Path, delimiter: str) -> None:
    path = csv_file(tmp_path, official_csv(delimiter).replace("10100000.0", "10100000"))
    assert dict(add(path).titles) == TITLES
    packed = tmp_path / "unspsc.csv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert dict(add(packed).titles) == TITLES


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_a_flat_list_of_codes_and_titles_will_do(
    tmp_path: Path, delimiter: str, encoding: str
) -> None:
    """Rows without a code or a title are passed over, and some signs only look like line ends."""
    lines = ["CODE|Title", "10|Vie", '10101501|"Chats, ; élevés"', "|Rien", "13|", "", "14"]
    text = "\n".join([*lines, "11|Live\u2028plants\x0b\x85now\n"]).replace("|", delimiter)
    assert dict(add(csv_file(tmp_path, text, encoding)).titles) == {
        "10000000": "Vie",
        "10101501": "Chats, ; élevés",
        "11000000": "Live plants now",
    }


def test_codes_are_put_in_order_with_their_parents_and_levels(tmp_path: Path) -> None:
    text = (
        "code,title\n10101501,Cats\n10101511,Ducks\n10101510,Mules\n10101500,Livestock\n10,Life\n"
    )
    table = add(csv_file(tmp_path, text))
    assert list(table.titles) == ["10000000", "10101500", "10101501", "10101510", "10101511"]
    assert table.ancestors("10101511") == ["10101500", "10000000"]
    assert dict(table.counts) == {"segment": 1, "class": 1, "commodity": 3}


def test_load_prefers_the_added_table_until_it_is_removed(tmp_path: Path) -> None:
    assert load("unspsc") is shipped("unspsc")
    added = add(csv_file(tmp_path, "code,title\n10,Life\n"))
    assert load("unspsc") == added
    assert dict(add(csv_file(tmp_path, "code,title\n11,Minerals\n")).titles) == {
        "11000000": "Minerals"
    }
    assert "10000000" not in load("unspsc")
    assert load("cpv") is shipped("cpv")
    assert remove("unspsc")
    assert load("unspsc") is shipped("unspsc")
    assert not remove("unspsc")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n10,Life\n", "has no column names in its first 20 rows"),
        ("\n" * 20 + "code,title\n10,Life\n", "has no column names in its first 20 rows"),
        ("Segment,Family,Class,Commodity\n10,,,\n", "has no column names in its first 20 rows"),
        ("", "has no column names in its first 20 rows"),
        ("code,title\n", "holds no UNSPSC codes"),
        ("code,title\n101,Life\n", "'101' is not a UNSPSC code"),
        ("code,title\nA0,Life\n", "'A0' is not a UNSPSC code"),
        ("code,title\n¹²,Life\n", "'¹²' is not a UNSPSC code"),
        ("code,title\n10101501.5,Life\n", "'10101501.5' is not a UNSPSC code"),
    ],
)
def test_a_file_of_another_kind_is_refused_and_the_hint_says_what_is_wanted(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(CodeTableError, match=message) as caught:
        add(csv_file(tmp_path, text))
    assert "Give the official UNSPSC spreadsheet, or a CSV file" in caught.value.hint
    assert "or just Code and Title" in caught.value.hint
    assert load("unspsc") is shipped("unspsc")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("unspsc.xlsx", b"not a spreadsheet"),
        ("unspsc.xlsx", b""),
        ("unspsc.pdf", b"%PDF-1.7"),
        ("unspsc.csv", b"code,title\n10,Caf\xe9\n"),
        ("unspsc.csv.gz", gzip.compress(b"code,title\n10,Life\n", mtime=0)[:-9]),
        ("unspsc.csv", None),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_a_hint(
    tmp_path: Path, name: str, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(CodeTableError, match="cannot be read") as caught:
        add(tmp_path / name)
    assert caught.value.hint.startswith("Give the official UNSPSC spreadsheet")


def test_a_table_that_cannot_be_kept_says_where_room_is_wanted(
    tmp_path: Path, own_data: Path
) -> None:
    own_data.write_text("in the way")
    with pytest.raises(CodeTableError, match="cannot be saved") as caught:
        add(csv_file(tmp_path, "code,title\n10,Life\n"))
    assert str(own_data) in caught.value.hint


@pytest.mark.parametrize(
    "table",
    [
        None,
        pa.table({"code": ["10000000"], "title": ["Life"]}),
        pa.table({"code": ["10000000"], "name": ["Life"]}).replace_schema_metadata(
            {"edition": "1", "source": "me"}
        ),
        pa.table({"code": [None], "title": ["Life"]}).replace_schema_metadata(
            {"edition": "1", "source": "me"}
        ),
        pa.table({"code": ["10000000"], "title": ["Life"]}).replace_schema_metadata({"a": "b"}),
    ],
    ids=["torn", "no metadata", "other columns", "no code", "other metadata"],
)
def test_a_table_that_is_torn_or_that_another_program_wrote_is_an_error_that_names_the_way_out(
    table: pa.Table | None, own_data: Path
) -> None:
    place = own_data / "tender-pipeline" / "codes" / "unspsc.parquet"
    place.parent.mkdir(parents=True)
    place.write_bytes(b"torn")
    if table is not None:
        pq.write_table(table, place)
    with pytest.raises(CodeTableError, match="cannot be read") as caught:
        load("unspsc")
    assert "tender-pipeline codes remove unspsc" in caught.value.hint
    assert remove("unspsc")
    assert load("unspsc") is shipped("unspsc")


def test_a_table_that_cannot_be_removed_says_so(own_data: Path) -> None:
    place = own_data / "tender-pipeline" / "codes" / "unspsc.parquet"
    place.mkdir(parents=True)
    with pytest.raises(CodeTableError, match="it is a folder"):
        load("unspsc")
    with pytest.raises(CodeTableError, match="cannot be removed") as caught:
        remove("unspsc")
    assert "Delete it yourself" in caught.value.hint


def test_nothing_is_removed_where_there_can_be_nothing(own_data: Path) -> None:
    own_data.write_text("in the way")
    assert not remove("unspsc")
    assert load("unspsc") is shipped("unspsc")


def test_a_failure_leaves_the_old_table_and_no_draft(
    tmp_path: Path, own_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = add(csv_file(tmp_path, "code,title\n10,Life\n"))

    def fail(table: pa.Table, path: Path) -> None:
        path.write_bytes(b"half")
        raise OSError("no space")

    monkeypatch.setattr("pyarrow.parquet.write_table", fail)
    with pytest.raises(CodeTableError, match="cannot be saved"):
        add(csv_file(tmp_path, "code,title\n11,Minerals\n"))
    assert load("unspsc") == added
    assert [path.name for path in own_data.rglob("*.*")] == ["unspsc.parquet"]
