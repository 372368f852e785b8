"""``export_page``: a model of AdaSent in, the page of ``adasent serve`` as one HTML file out.

The page computes what the service would answer, in the browser, and may load nothing from
anywhere: its first line of policy forbids it. See ``docs/export.md``.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adasent.errors import ConfigError
from adasent.estimators.predictor import Predictor
from adasent.estimators.starter import find_model
from adasent.export.bundle import bundle
from adasent.export.files import write_whole
from adasent.export.page_model import known_of, model_of, weights_of, with_words
from adasent.export.source import Source, source_of
from adasent.saving.word_table import WordTable
from adasent.text.tokenize import TOKENIZERS
from adasent.text.vocabulary import SPECIALS

#: Bytes of the file: what an e-mail or a slow line still takes.
MOST_BYTES = 12_000_000

_OWN = Path(__file__).parent / "page"
#: The page itself: its one home.
_PAGE = Path(__file__).parents[1] / "serve" / "static"


def export_page(
    model: Predictor | str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    words: int | None = None,
) -> Path:
    """Write a model of AdaSent as a page that predicts and explains without a server.

    Parameters
    ----------
    model
        A loaded model, or its folder.
    path
        Of the HTML file; what is there is replaced.
    name
        What the page calls the model; None: as its folder is called.
    words
        How many words it keeps, the first ones: those of the training by how often they came,
        then those that only the word vectors knew, in their order. All others are unknown words to
        the page. None: all of them.

    Raises
    ------
    ConfigError
        If the model is not AdaSent's, stands on an encoder or has a tokenizer of the user's own;
        or if the file would take more than :data:`MOST_BYTES`.
    """
    source = source_of(model)
    if source.reading.tokenizer not in TOKENIZERS:
        raise ConfigError(
            "the model was trained with a tokenizer of its own, which a page cannot run: expected "
            f"{' or '.join(TOKENIZERS)}; train with one of these"
        )
    if words is not None:
        if words < 1:
            raise ConfigError(f"words: expected 1 or more, got {words}")
        source = with_words(source, words)
    if name is None:
        name = "model" if isinstance(model, Predictor) else find_model(model).resolve().name
    html = b""
    if (n_bytes := _least_bytes(source.table)) <= MOST_BYTES:
        html = _page(source, name).encode()
        n_bytes = len(html)
    if n_bytes > MOST_BYTES:
        raise _too_large(source, name, n_bytes)
    write_whole(Path(path), html)
    return Path(path)


def _least_bytes(table: WordTable) -> int:
    """What a table takes in the file; known without making one of gigabytes."""
    return 4 * (2 * table.trained.size + table.fixed.size) // 3


def _too_large(source: Source, name: str, n_bytes: int) -> ConfigError:
    # Words have different lengths, so how many fit is found by trying.
    least, most = 0, len(source.reading.vocabulary) - len(SPECIALS)
    most = min(most, MOST_BYTES // source.table.trained.shape[1])  # a byte for each dimension
    while most - least > max(1, most // 100):
        middle = (least + most) // 2
        fits = len(_page(with_words(source, middle), name).encode()) <= MOST_BYTES
        least, most = (middle, most) if fits else (least, middle)
    advice = (
        f"keep fewer words, with --words {least} or words={least} the most frequent ones"
        if least
        else "train it smaller: hidden_size, gate_groups"
    )
    return ConfigError(
        f"a page in one file holds at most {MOST_BYTES / 1e6:.0f} MB, and this model takes at "
        f"least {n_bytes / 1e6:.1f} MB: {advice}"
    )


def _page(source: Source, name: str) -> str:
    script = bundle("app.js", [_OWN, _PAGE], module=True)
    worker = bundle("worker.js", [_OWN], module=False)
    style = (_PAGE / "style.css").read_text(encoding="utf-8")
    icon = base64.b64encode((_PAGE / "icon.svg").read_bytes()).decode()
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; worker-src blob:; base-uri 'none'; form-action 'none'"
    )
    held = {
        "held-known": ("application/json", _json(known_of(source, name))),
        "held-model": ("application/json", _json(model_of(source))),
        "held-weights": ("text/plain", weights_of(source)),
        "held-worker": ("text/plain", worker),
    }
    blocks = "".join(
        f'<script type="{kind}" id="{name}">{content}</script>\n'
        for name, (kind, content) in held.items()
    )
    return _put_together(
        {
            '<meta charset="utf-8">': '<meta charset="utf-8">\n'
            f'  <meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<link rel="stylesheet" href="/static/style.css">': f"<style>{style}</style>",
            '  <script type="module" src="/static/app.js"></script>\n': "",
            "</body>": f'{blocks}<script type="module">{script}</script>\n</body>',
        },
        icon,
    )


def _put_together(places: Mapping[str, str], icon: str) -> str:
    """The page's own HTML, in which each of some places stands once and gets something else."""
    html = (_PAGE / "index.html").read_text(encoding="utf-8")
    html = html.replace("/static/icon.svg", f"data:image/svg+xml;base64,{icon}")
    assert html.count("/static/") == sum(old.count("/static/") for old in places)
    for old, new in places.items():
        before, found, after = html.partition(old)
        assert found, old
        html = before + new + after
    return html


def _json(value: dict[str, Any]) -> str:
    """JSON in ASCII that can end no script, whatever its strings say."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _hash(source: str) -> str:
    """How a policy names what stands in the page itself."""
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
