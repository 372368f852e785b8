"""Modules become one script, in the order that they need, or are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from adasent.errors import AdaSentError
from adasent.export.bundle import bundle


def write(folder: Path, **modules: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, source in modules.items():
        (folder / f"{name}.js").write_text(source)
    return folder


def test_each_module_once_and_after_what_it_imports(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "page",
        app='import { b } from "./b.js";\nimport {\n  a,\n  c,\n} from "./a.js";\na(b, c);\n',
        b='import { a } from "./a.js";\nconst hidden = 1;\nexport const b = a(hidden);\n',
        a="const hidden = 2;\nexport async function a(one) {}\nexport class c {}\n",
    )
    assert bundle("app.js", [folder], module=True) == (
        "// a.js\n"
        "const module_a = await (async () => {\n"
        "const hidden = 2;\nasync function a(one) {}\nclass c {}\nreturn { a, c };\n})();\n"
        "// b.js\n"
        "const module_b = await (async () => {\n"
        "const { a } = module_a;\nconst hidden = 1;\nconst b = a(hidden);\nreturn { b };\n})();\n"
        "// app.js\n"
        "const module_app = await (async () => {\n"
        "const { b } = module_b;\nconst { a, c } = module_a;\na(b, c);\n})();\n"
    )
    script = bundle("app.js", [folder], module=False)
    assert "await (" not in script
    assert script.count('"use strict";') == 3


def test_the_first_folder_wins(tmp_path: Path) -> None:
    own = write(tmp_path / "own", api="export const api = 1;\n")
    page = write(
        tmp_path / "page",
        api="export const api = 2;\n",
        app='import { api } from "./api.js";\n',
    )
    assert "api = 1" in bundle("app.js", [own, page], module=True)
    assert "api = 1" not in bundle("app.js", [page, own], module=True)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ('import { none } from "./b.js";\n', r"app\.js: b\.js exports no none"),
        ('import { b } from "./nowhere.js";\n', r"module nowhere\.js is in none of"),
        ('import b from "./b.js";\n', "does not know: import b from"),
        ("export default 1;\n", "does not know: export default"),
        ('const b = await import("./b.js");\n', r"does not know: import\("),
        ('import { app } from "./circle.js";\n', r"in a circle: app\.js > circle\.js > app\.js"),
        ('const html = "</script>";\n', "'</script' cannot stand in a script"),
        ('const html = "<!--";\n', "'<!--' cannot stand in a script"),
    ],
)
def test_what_it_does_not_know_is_refused(tmp_path: Path, source: str, said: str) -> None:
    folder = write(
        tmp_path,
        app=source,
        b="export const b = 1;\n",
        circle='import { app } from "./app.js";\nexport const app = 1;\n',
    )
    with pytest.raises(AdaSentError, match=said):
        bundle("app.js", [folder], module=True)
