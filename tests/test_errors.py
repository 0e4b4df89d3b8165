from __future__ import annotations

import inspect

from pipeline import errors


def test_the_tree_in_the_docstring_is_the_tree_there_is() -> None:
    drawn = errors.__doc__ or ""
    for name in errors.__all__:
        assert name in drawn


def test_every_error_has_an_exit_code_and_ends_with_its_hint() -> None:
    for name in errors.__all__:
        kind = getattr(errors, name)
        assert inspect.isclass(kind) and issubclass(kind, errors.PipelineError)
        error = kind("It is broken.", "Mend it.")
        assert str(error) == "It is broken. Mend it."
        assert error.exit_code in (1, 2, 3, 7, 8)
        assert str(kind("The service says: no", "Mend it.")) == "The service says: no. Mend it."
        assert str(kind("It is broken.", "")) == "It is broken."
