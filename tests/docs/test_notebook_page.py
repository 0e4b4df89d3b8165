"""The example notebook runs, and its page shows what it printed."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from generated.notebook import NOTEBOOK, code_cells, notebook


def test_its_cells_were_run_in_order_and_have_outputs() -> None:
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == [*range(1, len(code) + 1)]
    assert all(cell["outputs"] for cell in code), "run scripts/example_notebook.py"
    assert '"output_type": "error"' not in NOTEBOOK.read_text("utf-8")


def test_its_cells_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(NOTEBOOK.parent)
    names: dict[str, Any] = {}
    shown = [executed(code, names) for code in code_cells()]
    assert list(names["coded"].columns[:2]) == ["description", "cpv_code"]
    assert "118 rows" in shown[1]._repr_html_()
    assert f"{len(names['review'])} of 118 rows need a look" in capsys.readouterr().out
    assert names["found"].rows == 20
    assert names["sure"].summary.systems["naics"].statuses["ok"] > 20


def executed(code: str, names: dict[str, Any]) -> Any:
    """Run a cell; return the value of its last line, which a notebook shows."""
    *statements, last = ast.parse(code).body
    exec(compile(ast.Module(statements, []), "cell", "exec"), names)
    if isinstance(last, ast.Expr):
        return eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    return exec(compile(ast.Module([last], []), "cell", "exec"), names)


def test_the_page_has_the_code_and_what_it_showed() -> None:
    page = notebook()
    assert "```python\nresult = pipeline.classify(tenders" in page
    assert page.count("```{raw} html") == 8
    assert "118 rows" in page
    assert str(Path.home()) not in page
