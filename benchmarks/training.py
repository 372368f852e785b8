"""The training step: ids of a batch in, one update of every weight done, on two threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from torch.nn import functional

from adasent.text.batch import length_buckets, pad
from benchmarks.inference import HIDDEN
from benchmarks.memory import peak_mb
from benchmarks.padded import padded_network
from benchmarks.records import Result
from benchmarks.registry import Sizes
from benchmarks.timing import take_turns
from benchmarks.workloads import mr, n_words, network, shape

BATCH = 50
N_WORDS = 20_000
PROVIDERS = ("adasent", "padded")


def step(sizes: Sizes) -> Iterator[Result]:
    """Batches of MR, drawn at random and of similar length, through both networks."""
    rng = np.random.default_rng(0)
    lengths = rng.permutation(n_words(mr().train_texts))
    mixed = np.split(lengths[: sizes.n_steps * BATCH], sizes.n_steps)
    buckets = length_buckets(lengths, BATCH)
    similar = [lengths[buckets[i]] for i in rng.permutation(len(buckets))[: sizes.n_steps]]
    for order, batches in (("", mixed), (", sorted", similar)):
        contenders = {name: _runs(Trainer(name), batches) for name in PROVIDERS}
        seconds = take_turns(contenders, sizes.few)
        what = shape(np.concatenate(batches), HIDDEN, "MR", BATCH)
        n_sentences = sum(len(batch) for batch in batches)
        ours, naive = seconds["adasent"], seconds["padded"]
        yield Result(f"adasent{order}", "sentences/s", n_sentences / ours, what)
        yield Result(f"padded{order}", "sentences/s", n_sentences / naive, what)
        yield Result(f"adasent{order}", "ratio", naive / ours, what, f"padded{order}")
        settings = {"batches": [batch.tolist() for batch in batches]}
        megabytes = {name: peak_mb("training", provider=name, **settings) for name in PROVIDERS}
        for name, value in megabytes.items():
            yield Result(f"{name}{order}", "MB", [value], what)
        share = megabytes["adasent"] / megabytes["padded"]
        yield Result(f"adasent{order}", "share of memory", [share], what, f"padded{order}")


class Trainer:
    """A network in training, with torch's optimisers: dense weights, and rows of the word table.

    Parameters
    ----------
    provider
        ``adasent``, or ``padded`` for the naive pyramid in the same network.
    height
        Levels of a pyramid at most.
    """

    def __init__(self, provider: str, height: int | None = None) -> None:
        self.model = network(HIDDEN, n_words=N_WORDS, height=height)
        if provider == "padded":
            self.model = padded_network(self.model)
        table = self.model.get_parameter("embedding.trained")
        dense = [parameter for parameter in self.model.parameters() if parameter is not table]
        self.optimizers = [torch.optim.Adam(dense), torch.optim.SparseAdam([table])]

    def run(self, batches: Sequence[np.ndarray]) -> None:
        """One step for each batch of sentences of these lengths."""
        rng = np.random.default_rng(0)
        for lengths in batches:
            batch = pad([rng.integers(2, N_WORDS, length) for length in lengths.tolist()])
            classes = torch.from_numpy(rng.integers(2, size=len(lengths)))
            for optimizer in self.optimizers:
                optimizer.zero_grad()
            output = self.model(torch.from_numpy(batch.ids), torch.from_numpy(batch.lengths))
            torch.autograd.backward(functional.nll_loss(output.log_probs, classes))
            # Said outright, because torch warns where it builds a sparse tensor without being told.
            with torch.sparse.check_sparse_tensor_invariants(False):
                for optimizer in self.optimizers:
                    optimizer.step()


def _runs(trainer: Trainer, batches: Sequence[np.ndarray]) -> Callable[[], None]:
    return lambda: trainer.run(batches)
