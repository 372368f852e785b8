"""Trains an encoder and the network above it together: texts in, the best weights left in both.

The other loop (:mod:`adasent.training.loop`) trains networks over a table, many at once; this one
is for a single network whose word vectors are computed anew in every step, by AdamW with warm-up
and decay, on one device or on as many as ``accelerate launch`` gives. What both share is shared:
the order of texts, dropout by keys, the objective, the choice of the epoch, checkpoints, Ctrl-C.

On CUDA the encoder computes in bfloat16 and the network above it in float32. All randomness of
epoch e comes from (seed, e) and the number of the process, so a resumed run ends as one that was
left alone.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from adasent.encoders.pieces import Reading
from adasent.encoders.transformer import PieceBatch, TransformerEncoder, collate, pool
from adasent.errors import AdaSentError, require
from adasent.nn.dropout import WORDS, keyed_choice
from adasent.systems.base import System
from adasent.text.batch import length_buckets
from adasent.training.callbacks import Callback, Interrupt
from adasent.training.checkpoint import Checkpoint, TrainingState
from adasent.training.config import TrainingConfig, TuningConfig
from adasent.training.examples import Examples
from adasent.training.history import History
from adasent.training.loop import default_device, matrix_units, notify
from adasent.training.metric import extra_columns
from adasent.training.objective import Objective, Score
from adasent.training.processes import is_launched
from adasent.training.run import Run
from adasent.training.schedule import epoch_order
from adasent.training.stacked import share

VALIDATION_BATCH = 128


@dataclass(frozen=True, kw_only=True)
class TunedRun(Run):
    """A run that trains an encoder too."""

    encoder: TransformerEncoder  # has the best weights when training ends
    tuning: TuningConfig
    origin: str  # the hash of the encoder's files

    @property
    def kind(self) -> Hashable:
        """Of no other run."""
        return id(self)

    def details(self) -> dict[str, Any]:
        """Settings, encoder and texts."""
        digest = hashlib.sha256()
        for part in (self.training, self.validation):
            for passage in (part.passages or ()) if part is not None else ():
                digest.update(passage.text.encode("utf-8", "surrogatepass") + b"\n")
        own = {"encoder": self.origin, "texts": digest.hexdigest()}
        return {"tuning": self.tuning.to_dict() | own}


class TextBatch(NamedTuple):
    """B texts as the encoder and the network above it take them, padded to T words."""

    pieces: PieceBatch
    places: Tensor  # (n,) where each of the encoder's words goes in (B T)
    lengths: Tensor  # (B,)
    targets: Tensor  # (B, C)
    weights: Tensor  # (B,)

    def to(self, device: torch.device) -> TextBatch:
        """The same on a device."""
        rest = (tensor.to(device, non_blocking=True) for tensor in self[1:])
        return TextBatch(self.pieces.to(device), *rest)


class Texts:
    """Examples as the encoder reads them."""

    def __init__(self, examples: Examples, encoder: TransformerEncoder) -> None:
        assert examples.passages is not None
        self.examples = examples
        self.lengths = examples.lengths
        self.readings: list[Reading] = list(encoder.reader(examples.passages))

    def batch(self, rows: np.ndarray) -> TextBatch:
        """Some of the texts."""
        lengths = self.lengths[rows]
        inside = np.arange(lengths.max()) < lengths[:, None]
        windows = [window for i in rows.tolist() for window in self.readings[i].windows]
        return TextBatch(
            collate(windows),
            torch.from_numpy(np.flatnonzero(inside)),
            torch.from_numpy(lengths),
            torch.from_numpy(self.examples.targets[rows].astype(np.float32)),
            torch.from_numpy(self.examples.weights[rows].astype(np.float32)),
        )


class Joint(nn.Module):
    """Encoder and network as one module, from word pieces to losses."""

    def __init__(self, encoder: TransformerEncoder, system: System, config: TrainingConfig) -> None:
        super().__init__()
        self.network = encoder.network
        self.objective, self.score = Objective(system), Score(system)
        self.scale = encoder.scale
        self.config = config
        system.embedding.requires_grad_(False)  # nothing asks for it

    def vectors(self, batch: TextBatch) -> Tensor:
        """(B, T, d) word vectors, zeros beyond each text."""
        with torch.autocast("cuda", torch.bfloat16, enabled=batch.places.is_cuda):
            words = pool(self.network, batch.pieces)
        n_texts, width = len(batch.lengths), int(batch.lengths.max())
        padded = words.new_zeros(n_texts * width, words.shape[1])
        padded = padded.index_copy(0, batch.places, self.scale * words)
        return padded.view(n_texts, width, -1)

    def forward(
        self, batch: TextBatch, n_rows: Tensor, penalty: Tensor, key: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Loss of a part of a batch of ``n_rows`` texts, and that plus the penalty."""
        config = self.config
        vectors = self.vectors(batch)
        if config.word_dropout:
            rate = key.new_full((1,), config.word_dropout, dtype=torch.float64)
            shape = torch.Size((1, *vectors.shape[:2]))
            dropped = keyed_choice(shape, key[None], rate, WORDS)[0]
            vectors = vectors.masked_fill(dropped[:, :, None], 0.0)
        given = {"vector_rate": config.vector_dropout, "hidden_rate": config.dropout}
        rates = {
            name: key.new_full((), rate, dtype=torch.float64)
            for name, rate in given.items()
            if rate
        }
        found: tuple[Tensor, Tensor] = self.objective(
            vectors, batch.lengths, batch.targets, batch.weights, n_rows, penalty, key, **rates
        )
        return found

    def measure(self, batch: TextBatch) -> tuple[Tensor, Tensor]:
        """(3,) sums and (B,) classes; see :class:`~adasent.training.objective.Score`."""
        *sums, found = self.score(self.vectors(batch), batch.lengths, batch.targets, batch.weights)
        return torch.stack([one.double() for one in sums]), found


def layer_depths(network: Any) -> tuple[dict[str, int], int]:
    """How many layers lie below each parameter of an encoder, by name, and how many there are.

    0 for the embeddings, i + 1 for layer i, counted from 0, and as many as there are for what comes
    after the last.
    """
    n_layers = int(network.config.num_hidden_layers)
    lists = (
        name
        for name, module in network.named_modules()
        if isinstance(module, nn.ModuleList) and len(module) == n_layers
    )
    prefix = next(lists, None)
    depths: dict[str, int] = {}
    passed = 0 if prefix is not None else n_layers
    for name, _ in network.named_parameters():
        if prefix is not None and name.startswith(f"{prefix}."):
            depths[name] = 1 + int(name[len(prefix) + 1 :].partition(".")[0])
            passed = n_layers
        else:
            depths[name] = passed
    return depths, n_layers


def parameter_groups(run: TunedRun) -> list[dict[str, Any]]:
    """Parameters with their highest step size (``peak``) and weight decay, for AdamW."""
    tuning = run.tuning
    depths, n_layers = layer_depths(run.encoder.network)
    groups: dict[tuple[int, bool], list[nn.Parameter]] = {}
    for name, parameter in run.encoder.network.named_parameters():
        # Offsets and gains have no directions to keep small.
        groups.setdefault((depths[name], parameter.ndim > 1), []).append(parameter)
    found: list[dict[str, Any]] = [
        {
            "params": parameters,
            "peak": tuning.encoder_rate * tuning.layer_decay ** (n_layers - depth),
            "weight_decay": tuning.weight_decay if is_matrix else 0.0,
        }
        for (depth, is_matrix), parameters in groups.items()
    ]
    head = [p for p in run.model.parameters() if p is not run.model.embedding.trained]
    return [*found, {"params": head, "peak": run.config.learning_rate, "weight_decay": 0.0}]


def course(step: int, n_steps: int, warmup: float) -> float:
    """Share of the highest step size that a step has, counted from 0."""
    n_rising = max(1, round(warmup * n_steps))
    if step < n_rising:
        return (step + 1) / n_rising
    return max(0.0, (n_steps - step) / max(1, n_steps - n_rising))


def tune(
    runs: Sequence[Run],
    *,
    callbacks: Sequence[Callback] = (),
    checkpoint: Checkpoint | None = None,
    device: torch.device | None = None,
) -> list[History]:
    """Train runs one after another; leave the best weights in their encoders and networks.

    Parameters and errors are those of :func:`adasent.training.loop.train`.
    """
    found = []
    for run in runs:
        assert isinstance(run, TunedRun)
        found.append(_Tuning(run, device or default_device()).fit(callbacks, checkpoint))
    return found


class _Tuning:
    """A run on its way, in one of one or more processes."""

    def __init__(self, run: TunedRun, device: torch.device) -> None:
        accelerate = require("accelerate", "encoder", "tuning an encoder")
        if not is_launched():
            # Its state is of the process, so that a run on a GPU could not follow one on the CPU.
            accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)
            if device.index is not None:
                torch.cuda.set_device(device)
        self.run = run
        # A batch of one-word texts composes nothing, and has no gradient for it.
        parallel = accelerate.DistributedDataParallelKwargs(find_unused_parameters=True)
        self.accelerator = accelerate.Accelerator(
            cpu=device.type == "cpu", mixed_precision="no", kwargs_handlers=[parallel]
        )
        self.device: torch.device = self.accelerator.device
        self.rank: int = self.accelerator.process_index
        self.world: int = self.accelerator.num_processes
        self.joint = Joint(run.encoder, run.model, run.config)
        self.joint.to(self.device)
        groups = parameter_groups(run)
        self.adam = torch.optim.AdamW([group | {"lr": group["peak"]} for group in groups])
        self.model, self.optimizer = self.accelerator.prepare(self.joint, self.adam)
        self.training = Texts(run.training, run.encoder)
        self.validation = None if run.validation is None else Texts(run.validation, run.encoder)
        size = int(run.tuning.tuning_batch)
        n_batches = len(length_buckets(self.training.lengths, size, height=run.height))
        self.steps_of_epoch = -(-n_batches // self.world)
        self.n_steps = self.steps_of_epoch * int(run.tuning.tuning_epochs)
        self.history = History()
        self.best: dict[str, Tensor] = {}

    # -- the loop ------------------------------------------------------------------------------

    def fit(self, callbacks: Sequence[Callback], checkpoint: Checkpoint | None) -> History:
        """All epochs."""
        is_first = self.accelerator.is_main_process
        callbacks = callbacks if is_first else ()
        self.accelerator.wait_for_everyone()  # the first may have discarded an older state
        state = checkpoint.read() if checkpoint else None
        if state is not None:
            self._resume(state)
        n_epochs, first = int(self.run.tuning.tuning_epochs), len(self.history)
        patience = None if self.validation is None else self.run.config.patience
        notify(callbacks, "on_train_begin", n_epochs, len(self.run.training), first)
        cuda = [self.device] if self.device.type == "cuda" else []
        try:
            with Interrupt() as interrupt, matrix_units(self.device), torch.random.fork_rng(cuda):
                while not self.history.is_over(n_epochs, patience):
                    interrupt.check()
                    self._epoch([*callbacks, interrupt])
                    if checkpoint and is_first:
                        tensors = self._tensors()
                        checkpoint.write(TrainingState(tensors, self.best, self.history))
        except KeyboardInterrupt:
            if self.history.best_epoch is None:
                raise
            self.history.interrupted = True
        finally:
            notify(callbacks, "on_train_end")
        self._finish()
        return self.history

    def _epoch(self, callbacks: Sequence[Callback]) -> None:
        """One pass over the training part, with its row in the history."""
        run, epoch = self.run, len(self.history)
        started = time.perf_counter()
        seeds = np.random.SeedSequence([run.seed, epoch, self.rank])
        torch.manual_seed(int(seeds.generate_state(1, np.uint64)[0]))  # the encoder's own dropout
        size = int(run.tuning.tuning_batch)
        order = epoch_order(self.training.lengths, size, run.seed, epoch, run.height)
        batches = order.steps(len(order.batches))
        sums = torch.zeros(3, dtype=torch.float64)  # of losses, texts, norms
        self.model.train()
        for step in range(self.steps_of_epoch):
            # Each process takes every so-many-th batch; the last of them may begin anew.
            batch = int(batches[(step * self.world + self.rank) % len(batches)])
            rows, key = order.batches[batch], int(order.keys[batch])
            loss, norm = self._step(rows, key, epoch * self.steps_of_epoch + step)
            sums += torch.tensor([loss * len(rows), len(rows), norm], dtype=torch.float64)
            n_done = min(int(sums[1]) * self.world, len(run.training))
            notify(callbacks, "on_batch_end", epoch, n_done, loss)
        sums = self.accelerator.reduce(sums.to(self.device), "sum").cpu()
        seconds = time.perf_counter() - started
        valid_loss, accuracy, more = self._measure()
        row = {
            "epoch": epoch,
            "train_loss": float(sums[0] / sums[1]),
            "valid_loss": valid_loss,
            "valid_accuracy": accuracy,
            **more,
            "gradient_norm": float(sums[2]) / (self.steps_of_epoch * self.world),
            "gradient_flow": None,
            "seconds": seconds,
            "examples_per_second": float(sums[1]) / seconds,
        }
        is_best = self.history.add(row, run.config.metric)
        if is_best:
            self.best = {name: p.detach().cpu().clone() for name, p in self._parameters().items()}
        notify(callbacks, "on_epoch_end", epoch, row, is_best)

    def _step(self, rows: np.ndarray, key: int, number: int) -> tuple[float, float]:
        """Update by a batch, computed in parts; its mean loss, and the gradient's norm."""
        run = self.run
        share = course(number, self.n_steps, run.tuning.warmup)
        for group in self.adam.param_groups:
            group["lr"] = share * group["peak"]
        parts = [part for part in np.array_split(rows, int(run.tuning.accumulate)) if len(part)]
        n_rows = torch.tensor(len(rows), device=self.device)
        penalty = torch.tensor(run.config.penalty / len(parts), device=self.device)
        total = 0.0
        for i, part in enumerate(parts):
            batch = self.training.batch(part).to(self.device)
            own = torch.tensor((key + i) % 2**63, device=self.device)
            last = i == len(parts) - 1
            # Gradients of several processes are summed once, after the last part.
            waiting = torch.enable_grad() if last else self.accelerator.no_sync(self.model)
            with waiting:
                loss, objective = self.model(batch, n_rows, penalty, own)
                self.accelerator.backward(objective)
            total += float(loss.detach())
        norm = float(
            self.accelerator.clip_grad_norm_(self.joint.parameters(), run.config.clip_norm)
        )
        if not math.isfinite(norm):
            raise AdaSentError(
                f"training diverged in epoch {len(self.history) + 1}: the gradient is {norm}; "
                "lower encoder_rate or learning_rate"
            )
        self.optimizer.step()
        self.optimizer.zero_grad()
        return total, norm

    @torch.no_grad()
    def _measure(self) -> tuple[float | None, float | None, dict[str, float]]:
        """Weighted mean validation loss, accuracy or micro F1, and what the metric adds."""
        if self.validation is None:
            return None, None, {}
        self.model.eval()
        held = self.validation.examples
        sums = torch.zeros(3, dtype=torch.float64, device=self.device)
        found = torch.zeros(len(held), dtype=torch.int64, device=self.device)
        batches = length_buckets(self.validation.lengths, VALIDATION_BATCH, height=self.run.height)
        for rows in batches[self.rank :: self.world]:
            measured, classes = self.joint.measure(self.validation.batch(rows).to(self.device))
            sums += measured
            found[torch.from_numpy(rows).to(self.device)] = classes
        sums = self.accelerator.reduce(sums, "sum")
        found = self.accelerator.reduce(found, "sum")  # each process has filled in its own
        loss, hits, counted = sums.cpu()
        loss = loss / float(held.weights.sum())
        classes_found = found.cpu().numpy()
        more = extra_columns(self.run.config.metric, held.targets, classes_found, held.weights)
        return loss.item(), share(hits, counted).item(), more

    # -- state ---------------------------------------------------------------------------------

    def _parameters(self) -> dict[str, nn.Parameter]:
        """What is trained, by name."""
        return {name: p for name, p in self.joint.named_parameters() if p.requires_grad}

    def _tensors(self) -> dict[str, Tensor]:
        """Weights and the optimiser's state."""
        found: dict[str, Tensor] = {}
        for name, parameter in self._parameters().items():
            found[f"weight/{name}"] = parameter
            # Nothing of a parameter that had no gradient yet.
            found |= {f"{part}/{name}": t for part, t in self.adam.state[parameter].items()}
        return found

    @torch.no_grad()
    def _resume(self, state: TrainingState) -> None:
        """Go on after the last epoch of a checkpoint."""
        self.history, self.best = state.history, state.best
        for name, parameter in self._parameters().items():
            parameter.copy_(state.tensors[f"weight/{name}"])
            own = {
                part: state.tensors[f"{part}/{name}"]
                for part in ("step", "exp_avg", "exp_avg_sq")
                if f"{part}/{name}" in state.tensors
            }
            if own:  # steps are counted on the CPU
                device = parameter.device
                self.adam.state[parameter] = {
                    part: tensor if part == "step" else tensor.to(device)
                    for part, tensor in own.items()
                }

    @torch.no_grad()
    def _finish(self) -> None:
        """Leave the best weights behind, on the CPU."""
        _write(self._parameters(), self.best)
        self.run.model.embedding.requires_grad_(True)
        self.joint.eval()
        self.joint.cpu()


def _write(parameters: Mapping[str, nn.Parameter], values: Mapping[str, Tensor]) -> None:
    for name, parameter in parameters.items():
        parameter.copy_(values[name])
