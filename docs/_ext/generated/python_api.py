"""The public names of the package, with their signatures and docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import pipeline
from generated.markdown import block, code
from pipeline.errors import PipelineError

__all__ = ["docstring", "python_api"]

HEADING = re.compile(r"^(Args|Attributes|Raises|Returns|Yields):\n", re.MULTILINE)
ITEM = re.compile(r"^    (\S[^:\n]*): ", re.MULTILINE)
LONGEST = 88
"""Characters of a signature on one line."""


def python_api() -> str:
    """Document every public name: functions, then classes, errors and data."""
    named = {name: getattr(pipeline, name) for name in pipeline.__all__}
    kinds: dict[str, list[str]] = {"Functions": [], "Classes": [], "Errors": [], "Data": []}
    for name, value in named.items():
        kinds[_kind(value)].append(name)
    parts = [
        f"## {heading}\n\n" + "\n\n".join("\n\n".join(_entry(name, named[name])) for name in names)
        for heading, names in kinds.items()
    ]
    return "\n\n".join(parts)


def docstring(text: str | None) -> str:
    """Return a docstring in Google's style as Markdown: its sections become lists."""
    summary, *sections = HEADING.split(inspect.cleandoc(text or "").replace("``", "`"))
    parts = [summary.strip()]
    for heading, body in zip(sections[::2], sections[1::2], strict=True):
        listed, _, rest = body.partition("\n\n")
        items = ITEM.split("\n" + listed.rstrip())
        lines = [
            f"- {_names(names)}: {' '.join(meaning.split())}"
            for names, meaning in zip(items[1::2], items[2::2], strict=True)
        ]
        parts += [f"**{heading}**", "\n".join(lines) or " ".join(listed.split()), rest.strip()]
    return "\n\n".join(filter(None, parts))


def _kind(value: object) -> str:
    if inspect.isfunction(value):
        return "Functions"
    if inspect.isclass(value):
        return "Errors" if issubclass(value, PipelineError) else "Classes"
    return "Data"


def _entry(name: str, value: Any) -> Iterator[str]:
    yield f"### {name}"
    match _kind(value):
        case "Functions":
            yield from filter(None, [_signature(name, value), docstring(value.__doc__)])
        case "Classes":
            yield from filter(None, [_signature(name, value), docstring(value.__doc__)])
            yield from _members(name, value)
        case "Errors":
            yield f"A `{value.__mro__[1].__name__}`. {docstring(value.__doc__)}"
        case _:
            yield block("text", f"{name} = {value!r}")


def _members(name: str, kind: type) -> Iterator[str]:
    """Yield the public methods and properties, also those of the package's base classes."""
    inherited = [base for base in kind.__mro__ if base.__module__.startswith("pipeline")]
    attributes = {key: value for base in reversed(inherited) for key, value in vars(base).items()}
    for key, value in attributes.items():
        called = getattr(value, "__func__", value)  # a class method wraps a function
        if key.startswith("_") or not (inspect.isfunction(called) or isinstance(value, property)):
            continue
        yield f"#### {name}.{key}"
        if inspect.isfunction(called):
            yield _signature(key, called)
        yield docstring(value.__doc__)


def _signature(name: str, called: Any) -> str:
    """Return how a function or a class is called; nothing if only the package makes it."""
    signature = inspect.signature(called)
    arguments = [p for p in signature.parameters.values() if p.name not in ("self", "cls")]
    if any(argument.name.startswith("_") for argument in arguments):
        return ""
    shown = list(_arguments(arguments))
    returns = "" if inspect.isclass(called) else f" -> {_type(signature.return_annotation)}"
    line = f"{name}({', '.join(shown)}){returns}"
    if len(line) > LONGEST:
        line = f"{name}(\n" + "".join(f"    {each},\n" for each in shown) + f"){returns}"
    return block("text", line)


def _arguments(arguments: list[inspect.Parameter]) -> Iterator[str]:
    keywords = False
    for argument in arguments:
        if argument.kind is argument.KEYWORD_ONLY and not keywords:
            keywords = True
            yield "*"
        default = "" if argument.default is argument.empty else f" = {argument.default!r}"
        yield f"{argument.name}: {_type(argument.annotation)}{default}"


def _type(annotation: object) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "None")


def _names(names: str) -> str:
    return ", ".join(code(name.strip(" `")) for name in names.split(","))
