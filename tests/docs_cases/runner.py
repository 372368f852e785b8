"""Runs commands as a reader's shell would, those of adasent in this process."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from adasent.cli.app import app
from docs_cases.blocks import Block, Command
from docs_cases.lists import DEPENDS, NOT_OUTPUT, NOT_RUN, NOT_RUN_PYTHON

_PIPE = re.compile(r" \| (?=(?:[^'\"]|'[^']*'|\"[^\"]*\")*$)")
#: A line this long may be a part of one that the page folds.
FOLDED = 20
_NUMBER = re.compile(r"[-+±]?\d[\d,]*(?:\.\d+)?(?:e[-+]\d+)?")


def listed(command: str) -> str | None:
    """The pattern of :data:`NOT_RUN` that names a command."""
    return next((pattern for pattern in NOT_RUN if re.fullmatch(pattern, command)), None)


def listed_python(block: Block) -> tuple[str, str] | None:
    """The key of :data:`NOT_RUN_PYTHON` that names a block."""
    key = (block.page, block.body.splitlines()[0])
    return key if key in NOT_RUN_PYTHON else None


def listed_shown(block: Block) -> tuple[str, str] | None:
    """The key of :data:`NOT_OUTPUT` that names a block."""
    keys = (key for key in NOT_OUTPUT if key[0] == block.page and block.body.startswith(key[1]))
    return next(keys, None)


@dataclass
class Output:
    """What a command wrote, and its exit code."""

    stdout: bytes
    stderr: str
    code: int

    @property
    def lines(self) -> list[str]:
        return [*self.stdout.decode().splitlines(), *self.stderr.splitlines()]


class Reader:
    """Somebody who types what a page shows, in a folder that has what the page starts from.

    A model or file that was prepared and that a command is about to write is taken away first: the
    reader who runs that command does not have it yet.
    """

    def __init__(self, folder: Path, names: dict[str, Any], client: Any = None) -> None:
        self.folder = folder
        self.names = names
        self.prepared = {path.name for path in folder.iterdir()}
        self.said: list[str] = []
        self.problems: list[str] = []
        self.client = client  # answers for the service that was started last

    def run(self, block: Block) -> None:
        """Run a block that is to be run, and compare what it shows."""
        if block.language == "python" and listed_python(block) is None:
            # Lines of the block have their numbers on the page, in tracebacks too.
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                code = compile("\n" * (block.line - 1) + block.body, block.page, "exec")
                exec(code, self.names)
            self.said += printed.getvalue().splitlines()
        for command in block.commands:
            if listed(command.text) is None:
                output = self.type(command.text)
                self.said += output.lines
                problem = compare(command, output)
                if problem:
                    self.problems.append(f"{block.place}: $ {command.text}\n{problem}")

    def look(self, block: Block) -> None:
        """See whether a block that shows output has lines that a command of the page said."""
        missing = missing_lines(block.body.splitlines(), self.said)
        if missing and listed_shown(block) is None:
            shown = "\n".join(missing)
            self.problems.append(f"{block.place}: no command of the page says\n{shown}")

    def type(self, line: str) -> Output:
        """One line of a shell: commands with pipes between."""
        stdin, stderr = b"", ""
        for stage in _PIPE.split(line):
            words = shlex.split(stage)
            if words[0] == "adasent":
                output = self._adasent(words[1:], stdin)
            elif words[0] == "curl":
                output = self._curl(words[1:])
            else:
                output = self._other(stage, stdin)
            stdin, stderr = output.stdout, stderr + output.stderr
            if output.code != 0:
                break
        return Output(output.stdout, stderr, output.code)

    def _adasent(self, words: list[str], stdin: bytes) -> Output:
        for option, name in itertools.pairwise(words):
            if option in ("--out", "--review") and name in self.prepared:
                self.prepared.remove(name)
                path = self.folder / name
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        done = CliRunner().invoke(app, words, input=stdin)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return Output(done.stdout_bytes, done.stderr, done.exit_code)

    def _curl(self, words: list[str]) -> Output:
        assert self.client is not None, "curl before a service was started"
        url = next(word for word in words if word.startswith("http"))
        body = words[words.index("-d") + 1] if "-d" in words else None
        header = dict(
            words[i + 1].split(": ", 1)
            for i, word in enumerate(words)
            if word in ("-H", "--header")
        )
        method = "GET" if body is None else "POST"
        with self.client:  # the application's threads run
            answer = self.client.request(method, url, content=body, headers=header)
        return Output(answer.content, "", 0 if answer.status_code < 400 else 22)

    def _other(self, stage: str, stdin: bytes) -> Output:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", stage],
            input=stdin,
            capture_output=True,
            check=False,
            cwd=self.folder,
            env=os.environ | {"PATH": path},
        )
        return Output(done.stdout, done.stderr.decode(), done.returncode)


def compare(command: Command, output: Output) -> str:
    """What is wrong with how a command ended, or with the form of what it wrote; "" if nothing."""
    said = "\n".join(output.lines)
    if any(line.startswith("error: ") for line in command.shown) != (output.code != 0):
        return f"ended with {output.code}:\n{said}"
    missing = missing_lines(command.shown, output.lines)
    shown = "\n".join(missing)
    return f"is shown with\n{shown}\nbut said\n{said}" if missing else ""


def missing_lines(shown: list[str], said: list[str]) -> list[str]:
    """The lines of a page that have no line of their form in what was said."""
    forms = {form(line) for line in said}
    whole = " ".join(form(line) for line in said)  # where the page folds a long line
    return [
        line
        for line in shown
        if line.strip() not in ("", "…")
        and form(line) not in forms
        and (depends(line) or len(form(line)) < FOLDED or form(line) not in whole)
    ]


def depends(line: str) -> str | None:
    """The pattern of :data:`DEPENDS` that names a line."""
    return next((pattern for pattern in DEPENDS if re.search(pattern, line)), None)


def form(line: str) -> str:
    """A line without what differs from run to run: numbers, widths, bars; of JSON, its keys.

    A line that depends on the data has the form of its pattern.
    """
    pattern = depends(line)
    if pattern is not None:
        return pattern
    if line.startswith("{"):
        return json.dumps(_keys(json.loads(line)))
    line = re.sub(r"[─━█▏▎▍▌▋▊▉]+", "─", _NUMBER.sub("#", line))
    return " ".join(line.split())


def _keys(value: Any) -> Any:
    """The shape of a JSON value: keys of objects, the shape of a list's first element, types."""
    if isinstance(value, dict):
        return {key: _keys(each) for key, each in sorted(value.items())}
    if isinstance(value, list):
        return [_keys(each) for each in value[:1]]
    return "number" if isinstance(value, int | float) else type(value).__name__
