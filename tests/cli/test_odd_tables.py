"""Tables as people really have them: each is read as meant, or one error says what to do."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from xlsxwriter import Workbook

import pipeline
from tests.cli.conftest import Capture, Command

TAKE_OUT = "If the rows are in its list 'results': jq '.\"results\"' FILE > ROWS.json."
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
AWARDS = {
    "releases": [
        {
            "ocid": "b-1",
            "id": "7",
            "tag": ["award"],
            "awards": [{"id": "1", "title": "Desks", "items": [{"description": "Oak desks"}]}],
            "contracts": [{"id": "1", "title": "Desks", "description": "For schools"}],
        }
    ]
}
RESULTS = {"page_metadata": {"page": 3}, "results": [{"Award ID": "X", "Description": "DEICING"}]}
LINKS = "\n".join(
    f"{row},{title},https://tenders.example/api/v1/notice?id={row}"
    for row, title in enumerate(["Elevator repair", "School furniture", "Bridge inspection"])
)

Refused = tuple[str, bytes, Sequence[str]]

REFUSED: list[Refused] = [
    (
        "mixed.csv",
        "id,description\n1,Niño “x”\n".encode() + b"2,Dan\xe9 \x93y\x94\n",
        [
            "mixed.csv, line 3: byte 0xE9 is not utf-8.",
            "The characters before it are UTF-8, so another",
            "read the whole file: cp1250 'Dané', cp850 'DanÚ'.",
        ],
    ),
    (
        "windows.csv",
        "id,description\n1,Café\n".encode("cp1252"),
        ["line 2: byte 0xE9 is not utf-8", "read the whole file: cp1252 'Café'."],
    ),
    (
        "similar.csv",
        "Inscription,Text\n2024,Wartung der Heizung\n2025,Lieferung von Möbeln\n".encode(),
        ["no column 'description'", "Did you mean 'Text'?"],
    ),
    (
        "latin.json",
        '{"releases":[{"ocid":"b-1","tender":{"title":"Baños"}}]}'.encode("latin-1"),
        ["release 1: byte 0xF1 is not UTF-8.", "iconv -f cp1252 -t utf-8 FILE > NEW"],
    ),
    (
        "list.json",
        '[{"description": "Baños"}]'.encode("latin-1"),
        ["record 1: byte 0xF1 is not UTF-8.", "iconv -f cp1252 -t utf-8 FILE > NEW"],
    ),
    *(
        (f"utf-16.{suffix}", '{"description": "Road"}'.encode("utf-16"), ["holds text in UTF-16"])
        for suffix in ("json", "jsonl")
    ),
    ("one-line.json", json.dumps(RESULTS).encode(), [TAKE_OUT]),
    ("lines.json", json.dumps(RESULTS, indent=2).encode(), [TAKE_OUT]),
    (
        "unnamed.csv",
        b"id;description\n1;Asphalt;\n2;Paper;A4\n",
        ["line 3: 'A4' is in a column without a name.", "Name the last column in the header"],
    ),
    *(
        (name, LFS, ["holds a Git LFS pointer to the table", "git lfs pull"])
        for name in ("l.csv", "l.csv.gz", "l.parquet", "l.xlsx", "l.json", "l.jsonl", "l.zip")
    ),
]


@pytest.mark.parametrize(("name", "data", "says"), REFUSED, ids=[each[0] for each in REFUSED])
def test_a_table_that_cannot_be_read_is_one_error_that_says_what_to_do(
    command: Command, capsys: Capture, name: str, data: bytes, says: Sequence[str]
) -> None:
    Path(name).write_bytes(data)
    errors = []
    for verb in ("run", "plan", "evaluate"):
        if verb != "evaluate" or not name.endswith(".zip"):  # only jobs unpack archives
            labels = ("--system", "psc", "--code-column", "id") if verb == "evaluate" else ()
            assert command(verb, name, *labels) == 2
            errors.append(capsys.readouterr().err)
    with pytest.raises(pipeline.InputError) as caught:
        pipeline.plan(Path(name))
    for error in (*errors, f"{caught.value.message} {caught.value.hint}"):
        assert not [each for each in says if each not in error], error
    assert [*Path().iterdir()] == [Path(name)]


READ: list[tuple[str, bytes, Sequence[str], Sequence[str], str]] = [
    (
        "trailing.csv",
        b"id;descripcion\r\n1;Obras de puente;\r\n2;Sillas;\r\n",
        ["descripcion"],
        ["Obras de puente", "Sillas"],
        "one delimiter more than the header, so the last column has no name and is empty.",
    ),
    (
        "nan.json",
        b'[{"id": 1, "description": "Bridges", "value": NaN},\n {"id": NaN, "description": NaN}]',
        ["description"],
        ["Bridges", ""],
        "",
    ),
    (
        "blanks.csv",
        "id,Text ,\xa0Name\n1,Bridges,B\n".encode(),
        ["Text", "Name"],
        ["Bridges. B"],
        "",
    ),
    (
        "break.csv",
        b'id,"Art der\n Leistung"\n1,Bridges\n',
        ["Art der Leistung"],
        ["Bridges"],
        "",
    ),
    ("blanks.json", b'[{"Text ": "Bridges"}, {"id": 2}]', ["Text"], ["Bridges", ""], ""),
    (
        "links.csv",
        f"id,title,description\n{LINKS}\n".encode(),
        ["description"],
        [line.split(",")[2] for line in LINKS.splitlines()],
        "3 of 3 rows are numbers, dates, codes, links, file names or blank. "
        "Did you mean --text-column 'title'?",
    ),
    (
        "awards.json",
        json.dumps(AWARDS).encode(),
        ["description"],
        ["Desks. Oak desks. For schools"],
        "",
    ),
    (
        "award.json",
        b'{"ocid":"b-1","id":"1","awards":[{"items":[{"description":"Desks"}]}]}',
        ["description"],
        ["Desks"],
        "",
    ),
    (
        "no-text.json",
        b'{"releases":[{"ocid":"b-1","id":"1","tag":["planning"],"planning":{"rationale":"x"}}]}',
        ["description"],
        [""],
        "The titles, descriptions and items of the releases hold hardly any words",
    ),
    (
        "nothing.csv",
        b"id,description\n1,NULL\n2,n/a\n3,None\n4,Bridges\n5,tbd\n6,-\n",
        ["description"],
        ["", "", "", "Bridges", "", ""],
        "hardly any words: 5 of 6 rows",
    ),
]


@pytest.mark.parametrize(
    ("name", "data", "columns", "texts", "says"), READ, ids=[each[0] for each in READ]
)
def test_a_table_is_read_as_it_is_meant(
    command: Command,
    capsys: Capture,
    caplog: pytest.LogCaptureFixture,
    name: str,
    data: bytes,
    columns: Sequence[str],
    texts: Sequence[str],
    says: str,
) -> None:
    Path(name).write_bytes(data)
    named = [part for column in columns for part in ("--text-column", column)]
    systems = ("--systems", "psc")
    assert command("plan", name, *named, *systems) == 0
    assert says in capsys.readouterr().err + caplog.text
    caplog.clear()
    assert command("run", name, *named, *systems, "--output", f"out-{name}") == 0
    assert says in capsys.readouterr().err + caplog.text
    _check_bytes(data, Path(f"out-{name}").read_bytes())
    assert command("run", name, *named, *systems, "--output", "out.parquet") == 0
    statuses = pq.read_table("out.parquet")["psc_status"].to_pylist()
    assert [status == "empty" for status in statuses] == [not text for text in texts]
    result = _classified(name, columns, warns=bool(says) and "delimiter" not in says)
    assert result.table["psc_status"].to_pylist() == statuses


def _classified(data: Any, columns: Sequence[str], warns: bool) -> Any:
    asked: dict[str, Any] = {"systems": "psc", "text_columns": columns}
    if not warns:
        return pipeline.classify(data, **asked)
    with pytest.warns(UserWarning, match="hardly any words"):
        return pipeline.classify(data, **asked)


def _check_bytes(before: bytes, after: bytes) -> None:
    """Check that each line begins as before, and that JSON keeps its values."""
    if before.lstrip().startswith((b"{", b"[")):
        assert b"NaN" not in before or after.count(b"NaN") == before.count(b"NaN")
        assert after.startswith(before[: before.index(b"}")].rstrip(b'"} '))
        return
    for old, new in zip(before.split(b"\n"), after.split(b"\n"), strict=True):
        assert new.startswith(old.rstrip(b"\r"))


def test_an_unnamed_column_stays_between_the_old_columns_and_the_new(command: Command) -> None:
    Path("t.csv").write_text("id;description\n1;Bridges;\n")
    assert command("run", "t.csv", "--systems", "psc", "--output", "o.csv") == 0
    header, row = Path("o.csv").read_text().splitlines()
    assert header.startswith("id;description;;psc_code;")
    assert row.startswith("1;Bridges;;")
    assert header.count(";") == row.count(";")


def test_nan_is_a_float_in_other_formats_and_nothing_among_texts(command: Command) -> None:
    rows = b'[{"n": NaN, "i": 1, "t": NaN, "description": "Bridges"}, {"n": -Infinity, "t": "x"}]'
    Path("t.json").write_bytes(rows)
    assert command("run", "t.json", "--systems", "psc", "--output", "o.parquet") == 0
    table = pq.read_table("o.parquet")
    assert str(table["n"].to_pylist()) == "[nan, -inf]"
    assert table["t"].to_pylist() == [None, "x"]
    assert table["i"].to_pylist() == [1, None]


def test_names_match_wherever_a_column_is_named(command: Command, capsys: Capture) -> None:
    names = " Text,PSC  code\xa0,Land ,Nr\u3000"
    rows = "".join(f"Office chairs {row},7110,en,{row}\n" for row in range(3))
    Path("t.csv").write_text(f"{names}\n{rows}")
    named = ("--text-column", "Text", "--code-column", "PSC code", "--source-column", "Land")
    assert command("evaluate", "t.csv", "--system", "psc", *named) == 0
    frame = pd.read_csv("t.csv", dtype=str)
    found = pipeline.evaluate(
        frame, system="psc", text_columns="Text", code_column="PSC code", source_column="Land"
    )
    assert found.rows == 3
    table = pipeline.classify(frame, systems="psc", text_columns="Text").to_pandas()
    assert list(table.columns[:4]) == names.split(",")


def test_labelled_tables_are_warned_of_too(command: Command, capsys: Capture) -> None:
    rows = "".join(f"https://x.example/n/{row},Office chairs {row},7110\n" for row in range(60))
    Path("t.csv").write_text(f"description,title,code\n{rows}")
    warning = "60 of 60 rows are numbers, dates, codes, links, file names or blank. Did you mean"
    for labelled, code in ((("evaluate", "t.csv"), 0), (("train", "t.csv", "--output", "m"), 2)):
        assert command(*labelled, "--system", "psc") == code
        assert f"{warning} --text-column 'title'?" in capsys.readouterr().err
    for data in (Path("t.csv"), pd.read_csv("t.csv", dtype=str)):
        with pytest.warns(UserWarning, match=warning) as warned:
            pipeline.evaluate(data, system="psc")
        assert warned[0].filename == __file__


def test_the_header_of_a_sheet_is_found_by_such_names_below_titles(tmp_path: Path) -> None:
    rows = [
        ["Tenders", "of", "the", "year"],
        ["nr ", "Art der\nLeistung", "", ""],
        [1, "Desks", "", ""],
    ]
    path = tmp_path / "t.xlsx"
    with pd.ExcelWriter(path, engine="xlsxwriter") as book:
        pd.DataFrame(rows).to_excel(book, header=False, index=False)
    found = pipeline.plan(path, systems="psc", text_columns="Art der Leistung")
    assert (found.rows, found.empty) == (1, 0)


def test_what_a_csv_file_cannot_hold_of_a_workbook_is_said_by_plan_and_run(
    command: Command,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Workbook(tmp_path / "t.xlsx") as book:
        book.add_worksheet("Tenders").write_column(0, 0, ["description", "Road works"])
        book.add_worksheet("Prices").write(0, 0, "a")
    beside = "other sheets ('Prices'), formats and formulas of the workbook"
    for name, is_said in (("o.csv", True), ("o.parquet", True), ("o.xlsx", False)):
        for verb in ("plan", "run"):
            caplog.clear()
            assert command(verb, "t.xlsx", "--output", name) == 0
            assert (f"t.xlsx: left out: {beside}" in caplog.messages) == is_said
            assert "t.xlsx: sheet 'Tenders' of 'Tenders', 'Prices' is read" in caplog.messages
    caplog.clear()
    assert command("run", "t.xlsx", "--sheet", "Tenders", "--output", "o.xlsx") == 0
    assert not any("is read" in message for message in caplog.messages)
    for output in ("-", "o.csv"):
        caplog.clear()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path("t.xlsx").read_bytes())))
        assert command("run", "-", "--output", output, "--output-format", "csv") == 0
        assert f"standard input: left out: {beside}" in caplog.messages
