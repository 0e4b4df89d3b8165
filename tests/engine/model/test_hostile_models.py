"""A model whose folder is damaged is refused in one sentence; a strange one answers."""

from __future__ import annotations

import io
import json
import os
import resource
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.codes import load
from pipeline.engine.engine import Ranker
from pipeline.engine.model import load_model, model_folder, open_models, save, shipped_model
from pipeline.engine.model.folder import checksum
from pipeline.engine.model.model import Model
from pipeline.errors import SettingsError
from tests.engine.model.training_data import taught

pytestmark = pytest.mark.usefixtures("impatient")


Spoil = Callable[[Path], object]
Change = Callable[[Any], Any]


def about(folder: Path) -> dict[str, Any]:
    said: dict[str, Any] = json.loads((folder / "model.json").read_text("utf-8"))
    return said


def say(folder: Path, said: object) -> None:
    (folder / "model.json").write_text(json.dumps(said), "utf-8")


def written(content: str | bytes) -> Spoil:
    whole = content.encode() if isinstance(content, str) else content
    return lambda folder: (folder / "model.json").write_bytes(whole)


def said(key: str, value: object) -> Spoil:
    return lambda folder: say(folder, about(folder) | {key: value})


def unsaid(key: str) -> Spoil:
    return lambda folder: say(folder, {k: v for k, v in about(folder).items() if k != key})


def of_system(key: str, value: object) -> Spoil:
    def spoil(folder: Path) -> None:
        whole = about(folder)
        whole["systems"]["cpv"][key] = value
        say(folder, whole)

    return spoil


def not_of_system(key: str) -> Spoil:
    def spoil(folder: Path) -> None:
        whole = about(folder)
        del whole["systems"]["cpv"][key]
        say(folder, whole)

    return spoil


def put(folder: Path, name: str, array: Any) -> None:
    """Keep an array with the right checksum."""
    np.save(folder / f"{name}.npy", array)
    whole = about(folder)
    whole["arrays"][name] = checksum(array)
    say(folder, whole)


def rewritten(name: str, change: Change) -> Spoil:
    return lambda folder: put(folder, name, change(np.load(folder / f"{name}.npy")))


def without(name: str) -> Spoil:
    """Take an array away, and its checksum with it."""

    def spoil(folder: Path) -> None:
        (folder / f"{name}.npy").unlink()
        whole = about(folder)
        del whole["arrays"][name]
        say(folder, whole)

    return spoil


def file(name: str, change: Callable[[Path], object]) -> Spoil:
    return lambda folder: change(folder / name)


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def linked(to: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        path.unlink()
        path.symlink_to(to)

    return change


def moved(path: Path) -> None:
    """Move a file away and put a link to it in its place."""
    path.rename(path.with_name("moved"))
    path.symlink_to("moved")


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def an_archive(path: Path) -> None:
    content = io.BytesIO()
    np.savez(content, a=np.zeros(3))
    path.write_bytes(content.getvalue())


def pickled(path: Path) -> None:
    np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)


def with_header(text: str) -> Callable[[Path], None]:
    """Put another header before the content of an array."""

    def change(path: Path) -> None:
        content = path.read_bytes()
        size = int.from_bytes(content[8:10], "little")
        head = text.encode("latin-1") + b"\n"
        path.write_bytes(
            content[:8] + len(head).to_bytes(2, "little") + head + content[10 + size :]
        )

    return change


TEXTS = ["wheat grain barley", "wheat", "cleaning of office windows", "жюфц", "", "paving " * 300]


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "whole"
    save([taught().model], folder, {})
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "model"))


HEADER = "{'descr': '|u1', 'fortran_order': False, 'shape': %s, }"
PLACES, PRIOR = "encoder.places.npy", "cpv.prior.npy"

SPOILT: dict[str, Spoil] = {
    # What the folder says of itself.
    "torn": written('{"kind": "tender-pipeline model", "form": 2, "sys'),
    "objects nested deeply": written('{"a":' * 200_000),
    "no object": written("[1, 2]"),
    "not UTF-8": written(b'{"kind": "\xff"}'),
    "another kind": said("kind", "recipe"),
    "no form": unsaid("form"),
    "form a text": said("form", "2"),
    "form huge": said("form", 10**400),
    "no systems": unsaid("systems"),
    "systems a list": said("systems", ["cpv"]),
    "a system unknown": said("systems", {"\ud800": {}}),
    "values a list": said("systems", {"cpv": [1]}),
    "no arrays": unsaid("arrays"),
    "a checksum a number": said("arrays", {"cpv.codes": 5}),
    "json a pipe": file("model.json", pipe),
    "json a loop of links": file("model.json", linked("model.json")),
    "json a device": file("model.json", linked("/dev/zero")),
    "json gone": file("model.json", Path.unlink),
    # The values of a system.
    "no trust": not_of_system("trust"),
    "spread null": of_system("spread", None),
    # The files of the arrays.
    "array a pipe": file(PLACES, pipe),
    "array a folder": file(PLACES, a_folder),
    "array a dangling link": file(PLACES, linked("nowhere")),
    "array a device": file(PLACES, linked("/dev/zero")),
    "array gone": file(PLACES, Path.unlink),
    "array cut": file(PLACES, cut),
    "array an archive": file(PLACES, an_archive),
    "array pickled": file(PLACES, pickled),
    "header nested": file(PLACES, with_header("(" * 60_000)),
    "header code": file(PLACES, with_header("__import__('os').abort()")),
    "header of objects": file(PLACES, with_header("{'descr': '|O', 'shape': (9,), }")),
    "shape huge": file(PLACES, with_header(HEADER % "(999999999999, 999999999999)")),
    "shape negative": file(PLACES, with_header(HEADER % "(-1, 64)")),
    "changed": file(PRIOR, lambda p: p.write_bytes(p.read_bytes()[:-4] + bytes(4))),
    "no codes": without("cpv.codes"),
    "systems empty": said("systems", {}),
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT.keys())
def test_a_model_that_is_not_as_training_writes_it_is_refused_in_a_sentence(
    folder: Path, spoil: Spoil
) -> None:
    spoil(folder)
    with pytest.raises(SettingsError) as caught:
        open_models(folder, ["cpv"])
    assert caught.value.exit_code == 2
    assert str(folder) in caught.value.message
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < len(str(folder)) + 200
    assert "tender-pipeline train" in caught.value.hint
    str(caught.value).encode("utf-8")


def test_too_few_files_that_may_be_open_are_no_damage(folder: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    others: list[int] = []
    # The tests before may have left many open.
    highest = max(int(file.name) for file in Path("/dev/fd").iterdir())
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 64, limits[1]))
    try:
        with suppress(OSError):
            while True:
                others.append(os.open(os.devnull, os.O_RDONLY))
        for _ in range(3):
            os.close(others.pop())
        with pytest.raises(SettingsError, match="cannot be read: Too many open files") as caught:
            open_models(folder, ["cpv"])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        for other in others:
            os.close(other)
    assert caught.value.hint == "Let the process open more files: ulimit -n 1024."


def answer(model: Model) -> None:
    """Ask a model, and see that each answer is one."""
    ranks = Ranker(model, load("cpv"))
    for found in ranks.rank(TEXTS, 3):
        assert all(0 <= match.confidence <= 1 for match in found)
    best = [found[0].code if found else "" for found in ranks.rank(TEXTS, 1)]
    assert len(ranks.why(TEXTS, best)) == len(TEXTS)


EXTREME: dict[str, Spoil] = {
    "files that are not the model's": lambda folder: os.mkfifo(folder / "cpv.more.npy"),
    "a link to an array": file(PRIOR, moved),
    "no repeats": lambda folder: [
        rewritten(f"cpv.repeat_{name}", lambda a: a[:0])(folder)
        for name in ("hashes", "codes", "usual", "seen")
    ],
    "one code": lambda folder: [
        rewritten("cpv.repeat_codes", lambda a: np.full_like(a, b"03111000"))(folder),
        *(
            rewritten(f"cpv.{name}", lambda a: a[:1])(folder)
            for name in ("codes", "directions", "direction_scales", "prior")
        ),
    ],
    "codes of no table": rewritten("cpv.codes", lambda a: np.array([b"A", b"B", b"0"], "S8")),
}


@pytest.mark.parametrize("spoil", EXTREME.values(), ids=EXTREME.keys())
def test_a_model_that_is_strange_but_sound_answers(folder: Path, spoil: Spoil) -> None:
    if spoil is EXTREME["codes of no table"]:
        rewritten("cpv.repeat_codes", lambda a: np.full_like(a, b"A"))(folder)
    spoil(folder)
    answer(load_model(model_folder(folder), "cpv"))


@pytest.mark.parametrize("spoil", [without("cpv.tree_features"), of_system("odds", None)])
def test_a_judgement_that_training_would_not_write_is_refused(tmp_path: Path, spoil: Spoil) -> None:
    folder = tmp_path / "model"
    save([load_model(shipped_model(), "cpv")], folder, {})
    spoil(folder)
    with pytest.raises(SettingsError, match="is damaged"):
        load_model(model_folder(folder), "cpv")
