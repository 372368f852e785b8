"""Code in README and docs: commands and options exist, imports work, an example is as shown."""

from __future__ import annotations

import ast
import importlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from adasent.cli.app import app
from docs_cases.blocks import PAGES, ROOT, blocks


def commands(page: Path) -> Iterator[list[str]]:
    """The words of each `adasent ...` that a reader is shown."""
    for block in blocks(page):
        for command in block.commands:
            for part in re.split(r" \| | && ", command.text):
                if part.startswith("adasent "):
                    yield shlex.split(part)[1:]


def find(words: list[str]) -> tuple[Any, list[str]]:
    """The command that the first words name, and the other words."""
    found: Any = get_command(app)
    while hasattr(found, "commands"):
        words = [word for word in words if word != "--debug"]
        assert words, "the name of a command is missing"
        assert words[0] in found.commands or words[0].startswith("--"), f"no command {words[0]}"
        if words[0] not in found.commands:
            return found, words
        found, words = found.commands[words[0]], words[1:]
    return found, words


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_their_options_exist(page: Path) -> None:
    for words in commands(page):
        command, rest = find(words)
        known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
        known |= {"--help", "--install-completion", "--show-completion"}
        for word in rest:
            option = word.partition("=")[0]
            if option.startswith("--") and option not in known:
                pytest.fail(f"{page.name}: adasent {' '.join(words)}: there is no {option}")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_can_be_read_and_its_imports_work(page: Path) -> None:
    for block in blocks(page):
        for node in ast.walk(ast.parse(block.body if block.language == "python" else "")):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("adasent"):
                module = importlib.import_module(str(node.module))
                for alias in node.names:
                    assert hasattr(module, alias.name) or importlib.import_module(
                        f"{node.module}.{alias.name}"
                    )


def test_there_is_something_to_check() -> None:
    assert sum(1 for page in PAGES for _ in commands(page)) > 60
    with pytest.raises(AssertionError, match="no command teech"):
        find(["teech", "reviews.csv"])


def test_the_first_screen_says_what_the_starter_says() -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    said = CliRunner().invoke(app, ["explain", "lacks wit"]).stdout.splitlines()[0]
    assert f"```\n{said}\n```" in page
