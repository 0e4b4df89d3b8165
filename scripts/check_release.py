"""Build the release, and try it as a user who has only the package: by hand, before a tag.

    python -m venv /tmp/release && /tmp/release/bin/pip install build twine cyclonedx-bom
    /tmp/release/bin/python scripts/check_release.py dist

It refuses if version, changelog and tags differ (`check_version.py`). It builds the sdist and the
wheel into a new folder, checks their metadata, installs each into an empty environment, and runs
the sample there, away from the checkout. Both must give the same bytes. It writes the software bill
of materials of the wheel's environment beside them. Nothing is uploaded and no tag is made.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

from check_version import ROOT, check_version

LARGEST_WHEEL = 60 * 2**20
"""Bytes; PyPI takes 100 MiB."""

NOT_SHIPPED = ("tests/", "docs/", ".github/", "outputs/")
"""Folders that a wheel must not carry."""

SHIPPED = ("licenses/LICENSE", "licenses/NOTICE", "pipeline/py.typed")
"""Files that it must carry, by the ends of their names."""


def main() -> None:
    """Build and check the release."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("output", type=Path, help="a new folder for the release")
    output: Path = parser.parse_args().output.resolve()
    if output.exists():
        sys.exit(f"{output} exists. Give a new folder.")
    version = check_version()
    _run(sys.executable, "-m", "build", "--outdir", str(output), str(ROOT))
    wheel, sdist = (next(output.glob(pattern)) for pattern in ("*.whl", "*.tar.gz"))
    _run(sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(sdist))
    _check_contents(wheel, version)
    with TemporaryDirectory() as folder:
        tables = {made: _sample(made, Path(folder) / made.suffix[1:]) for made in (wheel, sdist)}
        if len(set(tables.values())) > 1:
            sys.exit("The wheel and the sdist classify the sample differently.")
        python = Path(folder) / "whl" / "venv" / "bin" / "python"
        _sbom(python, output / "sbom.cdx.json")
    print(f"{version} can be released: {output}\nNow tag it: git tag -a v{version} -m {version}")


def _check_contents(wheel: Path, version: str) -> None:
    names = ZipFile(wheel).namelist()
    if f"-{version}-" not in wheel.name:
        sys.exit(f"{wheel.name} is not version {version}.")
    if wheel.stat().st_size > LARGEST_WHEEL:
        sys.exit(f"{wheel.name} has {wheel.stat().st_size:,} bytes.")
    for name in NOT_SHIPPED:
        if any(each.startswith(name) for each in names):
            sys.exit(f"{wheel.name} carries {name}.")
    for name in SHIPPED:
        if not any(each.endswith(name) for each in names):
            sys.exit(f"{wheel.name} lacks {name}.")


def _sample(made: Path, folder: Path) -> bytes:
    """Install a file into an empty environment; return the sample as it classifies it."""
    folder.mkdir()
    venv.create(folder / "venv", with_pip=True)
    binaries = folder / "venv" / "bin"
    _run(str(binaries / "pip"), "install", "--quiet", "--disable-pip-version-check", str(made))
    shutil.copy(ROOT / "sample_inputs" / "tenders.csv", folder)
    command = str(binaries / "tender-pipeline")
    _run(command, "run", "tenders.csv", "--output", "coded.csv", cwd=folder)
    _run(command, "doctor", cwd=folder)
    return (folder / "coded.csv").read_bytes()


def _sbom(python: Path, path: Path) -> None:
    """Write what the environment holds, as CycloneDX."""
    pyproject = str(ROOT / "pyproject.toml")
    options = ("--pyproject", pyproject, "--output-reproducible", "--output-file", str(path))
    _run(sys.executable, "-m", "cyclonedx_py", "environment", *options, str(python))


def _run(*command: str, cwd: Path | None = None) -> None:
    print("+", *command, flush=True)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if cwd is not None:
        environment["HOME"] = str(cwd)  # the ledger and the settings are not the user's
    subprocess.run(command, check=True, cwd=cwd, env=environment)  # noqa: S603 - all are our own


if __name__ == "__main__":
    main()
