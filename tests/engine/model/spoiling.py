"""Ways to damage the folder of a model."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.engine.model.folder import checksum

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
