"""Training a fitted network further: on new texts, with the words that they bring.

The new network has all weights of the old one. Words that it was trained on keep their rows, words
that it only knew become trained ones when the new texts have them, and new words are added. So that
they lie where training would have put them, they start from the vectors that the model began with,
at the same scale, if these are at hand; else from small random values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch

from adasent.errors import DataError
from adasent.estimators.base import Targeted, check_labels, check_targets
from adasent.estimators.encoding import (
    ReadWords,
    TableWords,
    count_unseen,
    in_training,
    words_of,
)
from adasent.systems.base import System
from adasent.text.encoder import TextEncoder
from adasent.text.passage import Passage
from adasent.text.tokenize import Tokenizer
from adasent.text.vocabulary import SPECIALS, Vocabulary
from adasent.vectors.words import NEW_WORD_SPREAD, WordVectors


class MoreWords(TableWords):
    """Words of a fitted network's table, and those that new texts bring.

    Parameters
    ----------
    start
        The fitted network.
    vocabulary
        Its words.
    used
        What ``training_["vectors"]`` says of the vectors that it began with, if anything.
    vectors, min_count
        Settings of the estimator.
    """

    def __init__(
        self,
        start: System,
        vocabulary: Vocabulary,
        used: Mapping[str, Any] | None,
        vectors: Any,
        min_count: int,
    ) -> None:
        super().__init__(vectors, start.config.vector_size, 0, min_count)
        self.start = start
        self.vocabulary = vocabulary
        self.used: dict[str, Any] = {"auto": False, "sets": [], "coverage": None} | dict(used or {})

    def read(
        self,
        training: Sequence[Passage],
        held: Sequence[Passage],
        tokenizer: Tokenizer,
        max_words: int,
        seed: int,
    ) -> ReadWords:
        """Number the words of the old texts as they were, then those of the new ones."""
        old = self.vocabulary
        counts = Counter(token for one in training for token in one.tokens)
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        before = set(old.words[: old.n_training])
        new = [w for w, n in ranked if n >= self.min_count and w not in before]
        taken = before.union(new)
        rest = [word for word in old.words[old.n_training :] if word not in taken]
        first = list(old.words[len(SPECIALS) : old.n_training])
        n_training = old.n_training + len(new)
        vocabulary = Vocabulary([*first, *new, *rest], n_training=n_training)
        sources = [words_of(maker, counts) for maker in self.makers]
        encoder = TextEncoder(tokenizer, vocabulary, max_words)
        return ReadWords(
            in_training(encoder.rows(training).ids, vocabulary.n_training),
            encoder.rows(held).ids,
            self._table(vocabulary, sources, seed),
            vocabulary.n_training,
            encoder,
            count_unseen([one.tokens for one in held], vocabulary, sources) if held else None,
            self.used,
        )

    def _table(
        self, vocabulary: Vocabulary, sources: Sequence[WordVectors], seed: int
    ) -> np.ndarray:
        """(V, d): rows of known words as they are, of the others as a new model has them."""
        embedding = self.start.embedding
        known = torch.cat((embedding.trained, embedding.fixed)).detach().numpy()
        old = {word: row for row, word in enumerate(self.vocabulary.words)}
        table = np.empty((len(vocabulary), known.shape[1]), dtype=np.float32)
        new = [row for row, word in enumerate(vocabulary.words) if word not in old]
        kept = [row for row, word in enumerate(vocabulary.words) if word in old]
        table[kept] = known[[old[vocabulary.words[row]] for row in kept]]
        noise = np.random.default_rng(seed).standard_normal((len(new), known.shape[1]))
        table[new] = NEW_WORD_SPREAD * noise
        if not self._are_those(sources, known.shape[1]):
            return table
        for row in new:
            word = vocabulary.words[row]
            if any(word in source for source in sources):
                table[row] = np.concatenate(
                    [
                        source[word] / said["scale"] if word in source else np.zeros(source.dim)
                        for source, said in zip(sources, self.used["sets"], strict=True)
                    ]
                )
        return table

    def _are_those(self, sources: Sequence[WordVectors], width: int) -> bool:
        """Whether these are the vectors that the model began with."""
        said = self.used["sets"]
        if not isinstance(said, list) or not all(isinstance(one, dict) for one in said):
            return False  # a file of the model's says so, which may be anyone's
        return (
            sum(source.dim for source in sources) == width
            and [one.get("sha256") for one in said] == [source.sha256 for source in sources]
            and all(isinstance(one.get("scale"), float) for one in said)
        )

    def build(self, table: np.ndarray, n_trained: int) -> System:
        """The network with the weights of the old one, over a new table."""
        n_fixed = len(table) - n_trained
        config = replace(self.start.config, n_trained=n_trained, n_fixed=n_fixed)
        model = type(self.start)(config)
        weights = {
            name: tensor
            for name, tensor in self.start.state_dict().items()
            if not name.startswith("embedding.")
        }
        model.load_state_dict(weights, strict=False)
        model.embedding.set_vectors(torch.from_numpy(table))
        return model


def check_more(
    X: Any, y: Any, classes: np.ndarray, sample_weight: Any, class_weight: Any
) -> Targeted:
    """Texts and labels for a model whose classes are fixed, as targets over all of them."""
    labels = check_labels(y)
    unknown = sorted(set(labels.tolist()) - set(classes.tolist()), key=str)
    if unknown:
        raise DataError(
            f"expected labels among the model's classes {classes.tolist()!r}, got {unknown[:3]!r}; "
            "name all classes with classes= in the first partial_fit, or fit a new model"
        )
    one_hot = np.eye(len(classes), dtype=np.float32)[np.searchsorted(classes, labels)]
    return check_targets(X, one_hot, classes.tolist(), sample_weight, class_weight)


class GoesOn:
    """What the estimators of networks have of it: ``partial_fit``, and ``fit`` by ``warm_start``.

    It stands beside the base of these estimators, whose methods it calls.
    """

    training_: dict[str, Any]

    if TYPE_CHECKING:  # of NeuralClassifier

        def __getattr__(self, name: str) -> Any: ...

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Train further on new texts, once through them; see ``docs/training.md``.

        Words that are new become words of the model. The optimiser starts anew, and no text is held
        back: the model is the one after the last batch. Without a model, a new one begins.

        Parameters
        ----------
        X, y, sample_weight
            As of ``fit``.
        classes
            All labels that there will ever be; with the first call, where ``y`` lacks some.
        """
        if self.__sklearn_is_fitted__():
            if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
                raise DataError(
                    f"expected the model's classes {self.classes_.tolist()!r}, got {classes!r}; "
                    "leave out classes=, or fit a new model"
                )
            self._go_on(X, y, sample_weight, None, epochs=1)
            return self
        if classes is None:
            encoded = self.encode(X, y, sample_weight, fraction=0.0)
        else:
            known = np.unique(check_labels(classes))
            target = check_more(X, y, known, sample_weight, self.class_weight)
            encoded = self._encode_with(self._source(), target, None, 0.0)
        run = self._build(encoded)
        self._train(replace(run, config=replace(run.config, epochs=1)), encoded, None)
        return self

    def _go_on(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        validation: tuple[Any, Any] | None,
        epochs: int | None = None,
    ) -> Self:
        """Train the model that is there; ``epochs`` without validation, or as the settings say."""
        self._check_shape()
        before = self.training_
        self._training_config(self.vector_size)
        target = check_more(X, y, self.classes_, sample_weight, self.class_weight)
        source = MoreWords(
            self.model_, self.vocabulary_, before.get("vectors"), self.vectors, self.min_count
        )
        fraction = self.validation_fraction if epochs is None else 0.0
        encoded = self._encode_with(source, target, validation, fraction, self.encoder_)
        config = self._training_config(encoded.table.shape[1])
        config = config if epochs is None else replace(config, epochs=epochs)
        model = source.build(encoded.table, encoded.n_trained)
        self._train(source.run(model, encoded, config), encoded, None)
        kept = {name: before[name] for name in ("examples", "data") if name in before}
        earlier = [*before.get("earlier", []), {"n_texts": before.get("n_texts")}]
        self.training_ = kept | self.training_ | {"earlier": earlier}
        return self
