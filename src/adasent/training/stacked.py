"""K models on one device, trained as one: a step of all of them is one pass over stacked tensors.

The modules know one model; ``torch.func`` gives them the weights of each. Nothing about a model
depends on the others: not its batches, not its dropout, not its padding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn.utils.rnn import pad_sequence

from adasent.nn.dropout import WORDS, keyed_choice
from adasent.systems.base import System
from adasent.text.vocabulary import PAD_ID, UNK_ID
from adasent.training.average import RunningMean
from adasent.training.examples import Examples, StackedBatch, StackedExamples
from adasent.training.graphs import Graphs
from adasent.training.metric import extra_columns, is_of_classes
from adasent.training.objective import Objective, Score
from adasent.training.optimizer import OPTIMIZERS, Pace, sum_rows
from adasent.training.run import TABLE, Run, dense_weights
from adasent.training.schedule import Plan, validation_plan

VALIDATION_BATCH = 128


class Steps(NamedTuple):
    """A plan on the device. Shapes are known on the host, so no step has to ask for them."""

    rows: Tensor  # (S, K, B)
    n_rows: Tensor  # (S, K)
    keys: Tensor  # (S, K)
    widths: list[int]
    sizes: list[int]  # rows of the largest batch of each step


class Stack:
    """The weights, texts and optimiser of K runs of one :attr:`Run.kind`.

    Attributes
    ----------
    weights
        (K, P) all dense weights of each model, end to end.
    table
        (K, V, d) trained rows of the word table, then those fixed rows that validation needs.
    losses, norms
        (K,) mean loss and gradient norm before clipping of each model's last step.
    loss_sum, norm_sum
        (K,) sums of losses over texts and of norms over steps since :meth:`reset`.
    """

    def __init__(
        self, runs: Sequence[Run], device: torch.device, *, cuda_graph: bool = True
    ) -> None:
        self.runs = list(runs)
        self.device = device
        recordable = device.type == "cuda" and runs[0].model.recordable(device)
        self.graphs = Graphs(enabled=recordable and cuda_graph)
        dense = [dense_weights(run.model) for run in runs]
        self._shapes = {name: tensor.shape for name, tensor in dense[0].items()}
        rows = [torch.cat([tensor.flatten() for tensor in one.values()]) for one in dense]
        self.weights = torch.stack(rows).to(device).requires_grad_()
        dtype = self.weights.dtype

        tables = [run.model.get_parameter(TABLE).detach() for run in runs]
        self.training = StackedExamples([run.training for run in runs], device, dtype)
        self.validation: StackedExamples | None = None
        if runs[0].validation is not None:
            parts = [_with_fixed_words(run.model.embedding.fixed, run) for run in runs]
            tables = [torch.cat(pair) for pair in zip(tables, (p[0] for p in parts), strict=True)]
            self.validation = StackedExamples([part for _, part in parts], device, dtype)
        self.table = pad_sequence(tables, batch_first=True).to(device)

        self.fine_tune = runs[0].config.fine_tune
        self.optimizer = OPTIMIZERS[runs[0].config.optimizer](
            self.weights.detach(),
            self.table if self.fine_tune else None,
            self._setting("learning_rate"),
            self._setting("table_rate"),
        )
        self.mean: RunningMean | None = None
        if any(run.config.average for run in runs):
            table = self.table if self.fine_tune else None
            memory = [run.config.average for run in runs]
            self.mean = RunningMean(self.weights.detach(), table, memory)
        self._objective, self._score = Objective(runs[0].model), Score(runs[0].model)
        self._read_runs()

    def __len__(self) -> int:
        return len(self.runs)

    # -- training ------------------------------------------------------------------------------

    def upload(self, plan: Plan) -> Steps:
        """Put a plan on the device."""
        arrays = (plan.rows, plan.n_rows, plan.keys)
        rows, n_rows, keys = (torch.from_numpy(array).to(self.device) for array in arrays)
        widths, sizes = plan.widths, plan.n_rows.max(axis=1).tolist()
        if self.graphs.enabled:  # every shape is recorded: make do with few
            widths = [_round_width(width) for width in widths]
            sizes = [_round_size(size, rows.shape[2]) for size in sizes]
        return Steps(rows, n_rows, keys, widths, sizes)

    def train_step(self, steps: Steps, step: int) -> None:
        """Update all models that have a batch in this step."""
        width, size = steps.widths[step], steps.sizes[step]
        self.graphs.run(
            ("train", width, size),
            lambda *inputs: self._train(width, *inputs),
            steps.rows[step, :, :size],
            steps.n_rows[step],
            steps.keys[step],
        )

    @torch.no_grad()
    def take_mean(self, models: Sequence[int]) -> None:
        """Let the running mean take in the present weights of some models."""
        if self.mean is not None:
            self.mean.take(models, self.weights, self.table)

    def reset(self) -> None:
        """Start the sums of an epoch."""
        self.loss_sum.zero_()
        self.norm_sum.zero_()

    def _train(self, width: int, rows: Tensor, n_rows: Tensor, keys: Tensor) -> None:
        batch = self._take(width, rows, keys)
        losses, gradient, of_vectors = self._gradients(batch, n_rows, keys)
        with torch.no_grad():
            pace = self._update(batch.ids, gradient, of_vectors, n_rows)
            self.losses.copy_(losses)
            self.norms.copy_(pace.norms)
            self.loss_sum.addcmul_(self.losses, n_rows)
            self.norm_sum.addcmul_(pace.norms, pace.active)

    def _take(self, width: int, rows: Tensor, keys: Tensor) -> StackedBatch:
        """The texts of a step, with words dropped."""
        batch = self.training.batch(rows, width)
        if self._word_rate is None:
            return batch
        dropped = keyed_choice(batch.ids.shape, keys, self._word_rate, WORDS)
        # Rows that stand for no text must not touch a word: even a zero gradient moves it.
        dropped &= batch.ids != PAD_ID
        return batch._replace(ids=batch.ids.masked_fill(dropped, UNK_ID))

    def _gradients(
        self, batch: StackedBatch, n_rows: Tensor, keys: Tensor
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Losses (K,) and the gradients of dense weights (K, P) and word vectors (K, B, T, d)."""
        vectors = self._vectors(batch.ids, self.table).requires_grad_(self.fine_tune)
        inputs = (vectors, batch.lengths, batch.targets, batch.weights, n_rows, self._penalty)
        named = {"key": keys, **self._rates, **batch.trees}
        losses, totals = self._apply(self._objective, self.weights, inputs, named)
        leaves = [self.weights, vectors] if self.fine_tune else [self.weights]
        gradients = torch.autograd.grad(totals, leaves, torch.ones_like(totals))
        return losses.detach(), gradients[0], gradients[1] if self.fine_tune else None

    def _update(
        self, ids: Tensor, gradient: Tensor, of_vectors: Tensor | None, n_rows: Tensor
    ) -> Pace:
        """Clip and step."""
        rows = None
        if of_vectors is not None:
            rows = sum_rows(ids.flatten(1), of_vectors.flatten(1, 2), self.table.shape[1])
        return self.optimizer.update(
            self.weights, gradient, self.table, rows, self._clip_norm, n_rows
        )

    # -- measuring -----------------------------------------------------------------------------

    @torch.no_grad()
    def evaluate(self) -> tuple[list[float], list[float]]:
        """Weighted mean loss and accuracy of each model, as it is kept, on its validation part.

        Where a text may have several labels, the micro F1 stands in the place of the accuracy.
        """
        assert self.validation is not None
        assert self._validation_steps is not None
        steps = self._validation_steps
        self._scores.zero_()
        for step, (width, size) in enumerate(zip(steps.widths, steps.sizes, strict=True)):
            self.graphs.run(
                ("validate", width, size),
                lambda rows, width=width: self._validate(width, rows),
                steps.rows[step, :, :size],
            )
        loss, hits, counted = self._scores
        loss = loss / self.validation.weights.double().sum(dim=1)
        return loss.tolist(), share(hits, counted).tolist()

    def extra_columns(self) -> list[dict[str, float]]:
        """Of each model, after :meth:`evaluate`: what the metric that it stops by adds to a row."""
        metrics = [run.config.metric for run in self.runs]
        if not any(map(is_of_classes, metrics)):
            return [{} for _ in metrics]
        every = self._found.cpu().numpy()  # with a place for the rows that stand for no text
        found = []
        for run, metric, classes in zip(self.runs, metrics, every, strict=True):
            assert run.validation is not None
            own = classes[: len(run.validation)]
            held = run.validation
            found.append(extra_columns(metric, held.targets, own, held.weights))
        return found

    def _validate(self, width: int, rows: Tensor) -> None:
        assert self.validation is not None
        batch = self.validation.batch(rows, width)
        weights, table = self._kept()
        inputs = (self._vectors(batch.ids, table), batch.lengths, batch.targets, batch.weights)
        *sums, found = self._apply(self._score, weights, inputs, batch.trees)
        self._scores += torch.stack(sums)
        self._found.scatter_(1, rows, found)

    # -- one model for all ---------------------------------------------------------------------

    def _vectors(self, ids: Tensor, table: Tensor) -> Tensor:
        """Rows of each model's table (K, V, d): (K, B, T) -> (K, B, T, d)."""
        n_models, n_words, size = table.shape
        first = torch.arange(0, n_models * n_words, n_words, device=ids.device, dtype=ids.dtype)
        return nn.functional.embedding(ids + first[:, None, None], table.view(-1, size))

    def _apply(
        self,
        module: nn.Module,
        flat: Tensor,
        inputs: tuple[Tensor, ...],
        named: Mapping[str, Tensor],
    ) -> tuple[Tensor, ...]:
        """A module of one model, on the weights and inputs of each: its results, (K, ...) each."""
        weights = {f"system.{name}": part for name, part in self._split(flat).items()}
        if len(self) == 1:  # spared the cost of vmap
            results = functional_call(
                module,
                {name: tensor[0] for name, tensor in weights.items()},
                tuple(tensor[0] for tensor in inputs),
                {name: tensor[0] for name, tensor in named.items()},
            )
            return tuple(result.unsqueeze(0) for result in results)
        of_all: tuple[Tensor, ...] = vmap(
            lambda *of_model: functional_call(module, *of_model), randomness="error"
        )(weights, inputs, dict(named))
        return of_all

    def _split(self, weights: Tensor) -> dict[str, Tensor]:
        """Weights end to end, (..., P) -> views by name, (..., *shape)."""
        sizes = [shape.numel() for shape in self._shapes.values()]
        parts = torch.split_with_sizes(weights, sizes, dim=-1)
        return {
            name: part.view(*weights.shape[:-1], *shape)
            for (name, shape), part in zip(self._shapes.items(), parts, strict=True)
        }

    # -- models in and out ---------------------------------------------------------------------

    def tensors(self) -> dict[str, Tensor]:
        """Weights and optimiser state by name, the models along the first axis."""
        mean = {} if self.mean is None else self.mean.state
        own = {"weights": self.weights.detach()}
        if self.fine_tune:  # else the runs have it, and it stays what it is
            own["table"] = self.table
        return {**own, **self.optimizer.state, **mean}

    def _kept(self) -> tuple[Tensor, Tensor]:
        """Weights and tables as a model is kept: the running mean, where there is one."""
        mean = {} if self.mean is None else self.mean.state
        weights = mean.get("mean_weights", self.weights.detach())
        return weights, mean.get("mean_table", self.table)

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Inverse of :meth:`tensors`."""
        for name, tensor in self.tensors().items():
            tensor.copy_(tensors[name])

    def snapshot(self, model: int) -> dict[str, Tensor]:
        """Copy of the weights of one model, as it is kept."""
        n_trained = len(self.runs[model].model.get_parameter(TABLE))
        weights, table = self._kept()
        found = {"weights": weights[model].clone()}
        if self.fine_tune:
            found["table"] = table[model, :n_trained].clone()
        return found

    @torch.no_grad()
    def write(self, network: System, snapshot: Mapping[str, Tensor]) -> None:
        """Copy a snapshot into the network of its run."""
        for name, part in self._split(snapshot["weights"]).items():
            network.get_parameter(name).copy_(part)
        if "table" in snapshot:
            network.get_parameter(TABLE).copy_(snapshot["table"])

    def keep(self, models: list[int]) -> None:
        """Drop all models but these."""
        self.runs = [self.runs[model] for model in models]
        index = torch.tensor(models, device=self.device)
        self.weights = self.weights.detach().index_select(0, index).requires_grad_()
        self.table = self.table.index_select(0, index)
        states = (
            [self.optimizer.state] if self.mean is None else [self.optimizer.state, self.mean.state]
        )
        for state in states:
            for name, tensor in state.items():
                state[name] = tensor.index_select(0, index.to(tensor.device))
        for examples in (self.training, self.validation):
            if examples is not None:
                examples.keep(index)
        self.graphs.forget()
        self._read_runs()

    def _read_runs(self) -> None:
        """What follows from the runs in the stack: their settings, and room for their sums."""
        self._penalty = self._setting("penalty").to(self.weights.dtype)
        self._clip_norm = self._setting("clip_norm")
        # What no model uses is left out, and so is its cost.
        self._word_rate = self._rate("word_dropout")
        rates = {"vector_rate": self._rate("vector_dropout"), "hidden_rate": self._rate("dropout")}
        self._rates = {name: rate for name, rate in rates.items() if rate is not None}
        self.losses, self.norms, self.loss_sum, self.norm_sum = self._zeros(4)
        self._scores = self._zeros(3)
        self._validation_steps: Steps | None = None
        if self.validation is not None:
            shape = self.validation.lengths.shape
            self._found = torch.zeros(shape, dtype=torch.int64, device=self.device)
            lengths = [run.validation.lengths for run in self.runs if run.validation is not None]
            height = self.runs[0].height
            plan = validation_plan(lengths, VALIDATION_BATCH, self.validation.filler, height)
            self._validation_steps = self.upload(plan)

    def _setting(self, name: str) -> Tensor:
        values = [getattr(run.config, name) for run in self.runs]
        return torch.tensor(values, dtype=torch.float64, device=self.device)

    def _rate(self, name: str) -> Tensor | None:
        rate = self._setting(name)
        return rate if any(getattr(run.config, name) for run in self.runs) else None

    def _zeros(self, n: int) -> Tensor:
        return torch.zeros(n, len(self), dtype=torch.float64, device=self.device)


def share(hits: Tensor, counted: Tensor) -> Tensor:
    """The hits of all that counts; 0 where nothing does."""
    return hits / counted.clamp(min=torch.finfo(counted.dtype).tiny)


def _round_width(width: int) -> int:
    unit = 2 if width <= 32 else 4 if width <= 64 else 16
    return -(-width // unit) * unit


def _round_size(size: int, most: int) -> int:
    """A power of two, or ``most``. Batches of long texts are small, and must stay so to fit."""
    return min(1 << (size - 1).bit_length(), most)


def _with_fixed_words(fixed: Tensor, run: Run) -> tuple[Tensor, Examples]:
    """The fixed rows that occur in validation, and the validation part renumbered to them."""
    assert run.validation is not None
    n_trained = len(run.model.get_parameter(TABLE))
    words = np.unique(np.concatenate(run.validation.ids))
    used = words[words >= n_trained]
    ids = [
        np.where(row < n_trained, row, n_trained + np.searchsorted(used, row))
        for row in run.validation.ids
    ]
    return fixed[torch.from_numpy(used - n_trained)], replace(run.validation, ids=ids)
