"""Kills ``adasent train`` and ``adasent crossval`` and repeats them: nothing may be lost or left.

    python tests/saving/kill_trials.py --trials 60

Each trial starts a command on a small file, ends it by SIGKILL or SIGINT, and gives the same
command until it finishes. The model, or the records, must be those of a run that nobody disturbed,
bit for bit but for the clock; and there must be nothing else in the folder or beside it. Half of
the trials strike at a random moment. The others strike at each of the moments between two steps of
saving. Trials of ``--force`` also load the model after the kill: the old one, or the new one.

The commands run in processes that are forked from this one, which has imported everything: a trial
then takes a second. ``--spawn`` starts a new interpreter for each instead. The named moments are
hooks in the process that is killed, put there by this file; the library knows nothing of them.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

FILES = {"config.json", "model.safetensors", "training.json", "vocabulary.json"}
SIZES = ["hidden_size=8", "classifier_size=8", "vector_size=8", "batch_size=10"]
SIGNALS = {signal.SIGKILL: "SIGKILL", signal.SIGINT: "SIGINT"}


class Moment(NamedTuple):
    """Just before or after the n-th call of a function."""

    function: str
    call: int = 1
    after: bool = False

    def __str__(self) -> str:
        return f"{'after' if self.after else 'before'} call {self.call} of {self.function}"


#: What may come between the steps of a save; a run that keeps checkpoints passes all of them.
WINDOWS = [
    Moment("pathlib.Path.replace", 2),  # a checkpoint is written and not yet in its place
    Moment("adasent.estimators.neural.NeuralClassifier._finish"),  # the last epoch is over
    Moment("adasent.cli.train.save_model"),  # fit has returned
    Moment("adasent.saving.folder._stage"),
    Moment("os.fsync", 2),  # one file is on disk, another half
    Moment("pathlib.Path.rename", 4),  # all but the configuration
    Moment("adasent.saving.folder._swap"),  # the new folder is whole
    Moment("pathlib.Path.rename", 5, after=True),  # the old folder is away, the new one not there
    Moment("pathlib.Path.rename", 6, after=True),  # both are, with the checkpoint in the old one
    Moment("pathlib.Path.rename", 7, after=True),  # the checkpoint is back
    Moment("adasent.training.checkpoint.Checkpoint.clear"),  # the model is saved
    Moment("adasent.training.checkpoint.Checkpoint.clear", after=True),
    Moment("adasent.cli.train.report_network"),  # the folder of checkpoints is gone too
]
#: The same for a system that trains in one go.
ONE_GO_WINDOWS = [
    Moment("adasent.cli.train.save_model"),
    Moment("os.fsync", 2),
    Moment("adasent.saving.folder._swap"),
    Moment("pathlib.Path.rename", 5, after=True),
    Moment("adasent.cli.train.report_counts"),
]


class Failure(Exception):
    """Something was lost, left over, or not the same."""


# -- processes -----------------------------------------------------------------------------------


def hook(moment: Moment, number: int) -> None:
    """Have this process send itself a signal at that moment."""
    owner_name, _, name = moment.function.rpartition(".")
    try:
        owner: Any = importlib.import_module(owner_name)
    except ModuleNotFoundError:
        module, _, kind = owner_name.rpartition(".")
        owner = getattr(importlib.import_module(module), kind)
    original = getattr(owner, name)
    n_calls = 0

    def struck(*args: Any, **options: Any) -> Any:
        nonlocal n_calls
        n_calls += 1
        if n_calls == moment.call and not moment.after:
            os.kill(os.getpid(), number)
        result = original(*args, **options)
        if n_calls == moment.call and moment.after:
            os.kill(os.getpid(), number)
        return result

    setattr(owner, name, struck)


def run_here(words: Sequence[str], moment: Moment | None, number: int) -> None:
    """The command in this process, which ends with it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = ["adasent", *words]
    if moment is not None:
        hook(moment, number)
    from adasent.cli import main

    main()


def start(
    words: Sequence[str], output: Path, strike: tuple[Moment, int] | None, spawn: bool
) -> int:
    """A process that runs the command; its id. What it prints goes to a file."""
    if spawn:
        code = "import kill_trials as k, sys; k.run_here(sys.argv[3:], k.parse(sys.argv[1]), "
        code += "int(sys.argv[2]))"
        moment, number = strike or (None, 0)
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, sys.path))}
        with output.open("ab") as file:
            return subprocess.Popen(
                [sys.executable, "-c", code, json.dumps(moment), str(int(number)), *words],
                stdout=file,
                stderr=file,
                env=environment,
            ).pid
    process = os.fork()
    if process:
        return process
    code_ = 70
    try:
        with output.open("ab") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        run_here(words, *(strike or (None, 0)))
        code_ = 0
    except SystemExit as error:
        code_ = error.code if isinstance(error.code, int) else 1
    except KeyboardInterrupt:  # before the command has begun
        code_ = 130
    except BaseException:  # so that the child never goes on with the trials of its parent
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code_)


def parse(text: str) -> Moment | None:
    """A moment from the arguments of a process that was started anew."""
    values = json.loads(text)
    return None if values is None else Moment(*values)


def wait(process: int) -> int:
    """The exit code; the negative number of the signal for a process that was killed."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


# -- what is tried -------------------------------------------------------------------------------


class Command(NamedTuple):
    """A command that writes to ``out`` in a folder of its own, and how its result is read."""

    name: str
    words: Callable[[Path], list[str]]
    windows: list[Moment]
    result: Callable[[Path], Any]
    prepare: Callable[[Path], None]
    left: set[str]  # names in the folder afterwards


def without_clock(value: Any) -> Any:
    """JSON without what the time of day and the speed of the machine decide."""
    if isinstance(value, dict):
        clock = ("seconds", "examples_per_second")
        return {k: without_clock(v) for k, v in value.items() if k not in clock}
    return [without_clock(one) for one in value] if isinstance(value, list) else value


def model_in(folder: Path) -> Any:
    out = folder / "out"
    if {path.name for path in out.iterdir()} != FILES:
        raise Failure(f"{out} holds {sorted(path.name for path in out.iterdir())}")
    exact = [(out / name).read_bytes() for name in sorted(FILES - {"training.json"})]
    return exact, without_clock(json.loads((out / "training.json").read_bytes()))


def records_in(folder: Path) -> Any:
    lines = (folder / "out").read_text("ascii").splitlines()
    records = [without_clock(json.loads(line)) for line in lines]
    return sorted(records, key=lambda record: (record["seed"], record["fold"]))


def commands(data: Path, older: Path) -> list[Command]:
    def settings(*more: str) -> list[str]:
        return [word for one in (*SIZES, *more) for word in ("--set", one)]

    def train(*options: str) -> Callable[[Path], list[str]]:
        return lambda folder: ["train", str(data), "--out", str(folder / "out"), *options]

    def crossval(folder: Path) -> list[str]:
        options = ["--folds", "4", "--out", str(folder / "out"), *settings("epochs=3")]
        return ["crossval", str(data), *options]

    def nothing(folder: Path) -> None:
        pass

    def old_model(folder: Path) -> None:
        shutil.copytree(older, folder / "out")

    network = settings("epochs=6", "patience=6")
    counts = ["--system", "nbsvm"]
    return [
        Command("train", train(*network), WINDOWS, model_in, nothing, {"out"}),
        Command("train --force", train(*network, "--force"), WINDOWS, model_in, old_model, {"out"}),
        Command("train nbsvm", train(*counts), ONE_GO_WINDOWS, model_in, nothing, {"out"}),
        Command(
            "train nbsvm --force",
            train(*counts, "--force"),
            ONE_GO_WINDOWS,
            model_in,
            old_model,
            {"out"},
        ),
        Command("crossval", crossval, [], records_in, nothing, {"out"}),
    ]


class Trials:
    """Runs commands in folders below ``home`` and counts what went wrong."""

    def __init__(self, home: Path, spawn: bool) -> None:
        self.home = home
        self.spawn = spawn
        self.n = self.n_killed = self.n_failed = 0
        self.undisturbed: dict[str, tuple[Any, float]] = {}

    def expect(self, command: Command) -> None:
        """The result of a run that nobody disturbs, and how long it takes."""
        folder = self.home / f"undisturbed {command.name}"
        folder.mkdir()
        command.prepare(folder)
        started = time.perf_counter()
        output = self.home / "output"
        code = wait(start(command.words(folder), output, None, self.spawn))
        if code:
            raise Failure(f"{command.name} by itself ends with {code}: {output.read_text()}")
        self.undisturbed[command.name] = command.result(folder), time.perf_counter() - started

    def trial(self, command: Command, number: int, at: Moment | float) -> None:
        """Kill the command once, at a named moment or after so many seconds; then repeat it."""
        self.n += 1
        folder = self.home / f"{self.n}"
        output = self.home / f"{self.n}.txt"
        folder.mkdir()
        command.prepare(folder)
        try:
            self._try(command, number, at, folder, output)
        except Failure as failure:
            self.n_failed += 1
            when = at if isinstance(at, Moment) else f"after {at:.3f} s"
            said = output.read_text() if output.exists() else ""
            print(f"FAILED {command.name}, {SIGNALS[signal.Signals(number)]} {when}: {failure}")
            print("    " + "\n    ".join(said.splitlines()[-12:]), flush=True)
        else:
            shutil.rmtree(folder)

    def _try(
        self, command: Command, number: int, at: Moment | float, folder: Path, output: Path
    ) -> None:
        words = command.words(folder)
        strike = (at, number) if isinstance(at, Moment) else None
        process = start(words, output, strike, self.spawn)
        if isinstance(at, float):
            time.sleep(at)
            os.kill(process, number)  # a process that is done waits for us, so it is there
        code = wait(process)
        self.n_killed += code == -number or code == 130
        if strike is not None and code == 0 and number == signal.SIGKILL:
            raise Failure("the moment did not come")
        if code not in (0, 130, -number):
            raise Failure(f"killed, it ends with {code}")
        self._check_old_model(command, folder)
        for _ in range(3):
            if code == 0:
                break
            before = output.stat().st_size
            code = wait(start(words, output, None, self.spawn))
            if code == 1 and b"holds a model already" in output.read_bytes()[before:]:
                code = 0  # it had been finished and saved when the signal came
        if code:
            raise Failure(f"repeated, it ends with {code}")
        if "Traceback" in output.read_text():
            raise Failure("a traceback was printed")
        found = {path.name for path in folder.iterdir()}
        if found != command.left:
            raise Failure(f"left over: {sorted(found - command.left)}")
        if command.result(folder) != self.undisturbed[command.name][0]:
            raise Failure("the result is not that of an undisturbed run")

    def _check_old_model(self, command: Command, folder: Path) -> None:
        """Where a model was to be replaced, there is one at any time."""
        if "--force" not in command.name:
            return
        process = os.fork()
        if not process:
            code = 1
            try:
                import adasent

                code = int(len(adasent.load(folder / "out").predict(["a good film"])) != 1)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        if wait(process):
            raise Failure("no model can be loaded after the kill")


def write_reviews(path: Path) -> None:
    """120 short texts and their labels."""
    good, bad = ["good", "great", "lovely", "fine"], ["bad", "awful", "dull", "poor"]
    nouns = ["film", "plot", "cast", "story", "scene", "music"]
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["text", "label"])
        for i in range(60):
            rows.writerow([f"a {good[i % 4]} {nouns[i % 6]} and a {good[(i + 2) % 4]} one", "pos"])
            rows.writerow([f"the {nouns[i % 6]} was {bad[i % 4]}, number {i}", "neg"])


def import_all() -> None:
    """What the children would else import each for itself."""
    import numba

    for name in ("cli.app", "estimators.adasent", "estimators.counts", "evaluation.crossval"):
        importlib.import_module(f"adasent.{name}")
    importlib.import_module("torch.fx.experimental.symbolic_shapes")  # for the first gradient
    numba.njit(lambda x: x + 1)(1)  # for the first compiled function


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--trials", type=int, default=60, help="random moments, of all commands")
    parser.add_argument("--seed", type=int, default=0, help="of the random moments")
    parser.add_argument("--only", default="", help="commands whose name starts so")
    parser.add_argument("--quick", action="store_true", help="each moment once, of few commands")
    parser.add_argument("--spawn", action="store_true", help="a new interpreter for each process")
    options = parser.parse_args()
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    sys.path.insert(0, str(Path(__file__).parent))
    if not options.spawn:
        import_all()
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as home:
        trials = Trials(Path(home), options.spawn)
        data, older = Path(home) / "reviews.csv", Path(home) / "older"
        write_reviews(data)
        mnb = ["train", str(data), "--out", str(older), "--system", "mnb"]
        if wait(start(mnb, Path(home) / "output", None, options.spawn)):
            raise Failure((Path(home) / "output").read_text())
        chosen = [c for c in commands(data, older) if c.name.startswith(options.only)]
        if options.quick:
            chosen = [c for c in chosen if c.name in ("train --force", "crossval")]
        for command in chosen:
            trials.expect(command)
        for command in chosen:
            for window in command.windows:
                for number in [signal.SIGKILL] if options.quick else SIGNALS:
                    trials.trial(command, number, window)
        n_windows = trials.n
        for i in range(options.trials):
            command = chosen[i % len(chosen)]
            seconds = trials.undisturbed[command.name][1]
            trials.trial(command, chance.choice(list(SIGNALS)), chance.uniform(0, 1.05 * seconds))
    print(
        f"{n_windows} trials at named moments and {trials.n - n_windows} at random ones, "
        f"{trials.n_killed} of them ended by the signal: {trials.n_failed} failed"
    )
    return int(trials.n_failed > 0)


if __name__ == "__main__":
    sys.exit(main())
