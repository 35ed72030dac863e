"""A run's loops: cut off and resumed they end in the same bits; tracking and timing do not show."""

import copy
import os
import signal
from contextlib import suppress

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional as F
from torch.nn.modules.batchnorm import _BatchNorm

from collateral.contract.data import ImageInfo
from collateral.contract.params import TrainedParams
from collateral.models._build import build_model
from collateral.training.checkpoints import WARNINGS, Checkpoints
from collateral.training.devices import describe_numerics
from collateral.training.examples import Examples, Images
from collateral.training.inference import accuracy, infer
from collateral.training.optimizers import descend, start_training
from collateral.training.run import Clock, Run

CPU = torch.device("cpu")
INFO = ImageInfo(3, (8, 8, 3), (0.5,) * 3, (0.25,) * 3)
ALWAYS, NEVER = 0.0, 1e9  # seconds between checkpoints
TEACHER_EPOCHS, STUDENT_EPOCHS = 3, 4


def new_model() -> torch.nn.Module:
    """Build a model as the stages do: in channels_last order, with batch norm."""
    return build_model("small_cnn", INFO).to(memory_format=torch.channels_last)


@pytest.fixture(scope="module")
def examples() -> Examples:
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(256, (24, 8, 8, 3), generator=generator, dtype=torch.uint8)
    labels = torch.randint(3, (24,), generator=generator)
    return Examples(Images(pixels, padding=2, flip=True), torch.arange(24), labels)


@pytest.fixture(scope="module")
def base() -> torch.nn.Module:
    torch.manual_seed(0)
    return new_model()


class Killed(Exception):
    """Ends a program as a kill does."""


class Program:
    """A teacher that learns hard labels, then a student that learns the teacher's soft labels."""

    def __init__(
        self, base, examples, *, kill_at=None, stop_at=None, warn_at=None, warning=signal.SIGTERM
    ):
        """Kill or warn in the middle of an epoch, a pair of loop and number."""
        self.base, self.examples = base, examples
        self.kill_at, self.stop_at = kill_at, stop_at
        self.warn_at, self.warning = warn_at, warning
        self.epochs = []

    def __call__(self, run: Run) -> torch.nn.Module:
        with run.seeded():
            teacher = new_model()
        sgd = TrainedParams(lr=0.05, batch_size=8)
        self.train(run, teacher, self.examples, sgd, "teacher")
        soft = infer(teacher, self.examples)[1].softmax(1)
        run.report(teacher_sum=soft[:, 0].sum().item())
        student = copy.deepcopy(self.base)
        adamw = TrainedParams(lr=0.01, batch_size=8, optimizer="adamw")
        self.train(run, student, self.examples.relabelled(soft), adamw, "student")
        return student

    def train(self, run, model, examples, params, loop):
        optimizer = start_training(model, params)
        count, name = (TEACHER_EPOCHS, "teacher") if loop == "teacher" else (STUDENT_EPOCHS, "")
        for epoch in run.epochs(count, model, optimizer, name=name):
            for step, (x, y) in enumerate(examples.batches(params.batch_size, run.generator)):
                if self.kill_at == (loop, epoch) and step == 1:
                    raise Killed
                if self.warn_at == (loop, epoch) and step == 1:
                    os.kill(os.getpid(), self.warning)
                loss = F.cross_entropy(model(x), y)
                descend(optimizer, loss)
            self.epochs.append((loop, epoch))
            run.log(epoch=epoch, loss=loss.item())
            if self.stop_at == (loop, epoch):
                run.stop()


def same(one: torch.nn.Module, other: torch.nn.Module) -> bool:
    """Tell whether all weights and buffers are the same bits."""
    pairs = zip(one.state_dict().items(), other.state_dict().items(), strict=True)
    return all(a == b and torch.equal(x, y) for (a, x), (b, y) in pairs)


@pytest.fixture(scope="module")
def undisturbed(base, examples):
    run = Run(CPU, 1)
    return Program(base, examples)(run), run


# Resuming


@pytest.mark.parametrize("interval", [ALWAYS, NEVER])
@pytest.mark.parametrize(
    "kill_at", [("teacher", 0), ("teacher", 2), ("student", 0), ("student", 3)]
)
def test_a_run_cut_off_and_started_again_ends_in_the_same_bits(
    base, examples, undisturbed, tmp_path, kill_at, interval
):
    def new_run() -> Run:
        return Run(CPU, 1, checkpoints=Checkpoints(tmp_path, "job", interval))

    with pytest.raises(Killed):
        Program(base, examples, kill_at=kill_at)(new_run())
    again, run = Program(base, examples), new_run()
    assert same(again(run), undisturbed[0])
    assert run.history == undisturbed[1].history
    assert run.reported == undisturbed[1].reported
    done = [("teacher", i) for i in range(TEACHER_EPOCHS)]
    done += [("student", i) for i in range(STUDENT_EPOCHS)]
    if interval == ALWAYS:
        assert again.epochs == done[done.index(kill_at) :]
    else:
        # Only what was finished is on disk.
        assert again.epochs == done[0 if kill_at[0] == "teacher" else TEACHER_EPOCHS :]


def test_a_run_cut_off_many_times_ends_in_the_same_bits(base, examples, undisturbed, tmp_path):
    for kill_at in [("teacher", 1), ("teacher", 2), ("student", 1), ("student", 2)]:
        run = Run(CPU, 1, checkpoints=Checkpoints(tmp_path, "job", ALWAYS))
        with pytest.raises(Killed):
            Program(base, examples, kill_at=kill_at)(run)
    run = Run(CPU, 1, checkpoints=Checkpoints(tmp_path, "job", ALWAYS))
    assert same(Program(base, examples)(run), undisturbed[0])


@pytest.mark.parametrize("number", WARNINGS)
@pytest.mark.parametrize("epoch", [1, 3])
def test_a_warning_in_the_middle_of_an_epoch_keeps_the_end_of_the_one_before(
    base, examples, undisturbed, tmp_path, number, epoch
):
    """Nothing else is saved in so short a time; what the epoch has changed already is not."""

    def new_run() -> Run:
        return Run(CPU, 1, checkpoints=Checkpoints(tmp_path, "job", NEVER))

    with pytest.raises(SystemExit) as left:
        Program(base, examples, warn_at=("student", epoch), warning=number)(new_run())
    assert left.value.code == 128 + number
    again, run = Program(base, examples), new_run()
    assert same(again(run), undisturbed[0])
    assert again.epochs == [("student", i) for i in range(epoch, STUDENT_EPOCHS)]
    assert run.history == undisturbed[1].history


def test_a_resumed_loop_continues_the_random_numbers_of_torch(base, tmp_path):
    """Dropout is drawn there."""

    def draws(kill_at: int | None = None, **options) -> dict[int, list[float]]:
        run, drawn = Run(CPU, 1, **options), {}
        with suppress(Killed):
            for epoch in run.epochs(4, copy.deepcopy(base)):
                if epoch == kill_at:
                    raise Killed
                drawn[epoch] = torch.rand(2).tolist()
        return drawn

    checkpoints, undisturbed = Checkpoints(tmp_path, "job", ALWAYS), draws()
    assert draws(kill_at=2, checkpoints=checkpoints) == {i: undisturbed[i] for i in (0, 1)}
    assert draws(checkpoints=checkpoints) == {i: undisturbed[i] for i in (2, 3)}


def test_a_run_begun_on_another_device_says_so(base, examples, tmp_path, caplog):
    def run_on(device: str) -> Run:
        run = Run(CPU, 1, checkpoints=Checkpoints(tmp_path, "job", ALWAYS))
        run.devices = [device]
        return run

    with pytest.raises(Killed):
        Program(base, examples, kill_at=("student", 2))(run_on("one"))
    run = run_on("other")
    Program(base, examples)(run)
    assert run.devices == ["one", "other"]
    assert "begun on one" in caplog.text
    assert describe_numerics(run.devices)["device"] == "one, then other"


def test_checkpoints_do_not_show_in_the_weights(base, examples, undisturbed, tmp_path):
    run = Run(CPU, 1, checkpoints=Checkpoints(tmp_path, "job", ALWAYS))
    assert same(Program(base, examples)(run), undisturbed[0])


def test_another_seed_gives_another_model(base, examples, undisturbed):
    assert not same(Program(base, examples)(Run(CPU, 2)), undisturbed[0])


def test_stop_ends_a_loop_after_its_epoch(base, examples):
    program = Program(base, examples, stop_at=("teacher", 1))
    program(Run(CPU, 1))
    assert program.epochs == [("teacher", i) for i in range(2)] + [
        ("student", i) for i in range(STUDENT_EPOCHS)
    ]


@pytest.mark.parametrize("stop_at", [None, ("teacher", 1), ("student", 2)])
def test_a_finished_loop_gives_its_final_state_and_no_epochs(base, examples, tmp_path, stop_at):
    models, runs = [], []
    for _ in range(2):
        program = Program(base, examples, stop_at=stop_at)
        runs.append(Run(CPU, 1, checkpoints=Checkpoints(tmp_path, "job", NEVER)))
        models.append(program(runs[-1]))
    assert program.epochs == []
    assert same(*models)
    assert runs[0].history == runs[1].history


def test_a_loop_of_no_epochs_changes_nothing(base, tmp_path):
    model = copy.deepcopy(base)
    run = Run(CPU, 1, checkpoints=Checkpoints(tmp_path, "job", ALWAYS))
    assert list(run.epochs(0, model)) == []
    assert same(model, base)


# Tracking


def test_tracking_does_not_show_in_weights_statistics_or_randomness(base, examples, undisturbed):
    def tracker(model):
        return {"tracked": torch.tensor(accuracy(model, examples))}

    run = Run(CPU, 1, tracker=tracker)
    assert same(Program(base, examples)(run), undisturbed[0])
    assert torch.equal(run.generator.get_state(), undisturbed[1].generator.get_state())


def test_only_the_unlearned_model_is_tracked_once_an_epoch(base, examples):
    seen = []

    def tracker(model):
        seen.append(model)
        return {"tracked": torch.tensor(len(seen))}

    run = Run(CPU, 1, tracker=tracker)
    student = Program(base, examples)(run)
    assert len(seen) == STUDENT_EPOCHS
    assert all(model is student for model in seen)
    assert [kept["tracked"].item() for kept in run.tracked] == [1, 2, 3, 4]
    untracked = Run(CPU, 1)
    Program(base, examples)(untracked)
    assert run.history == untracked.history


def test_tracked_outputs_are_stored_with_the_elapsed_seconds(base, time_):
    def tracker(_model):
        time_.passes(1000)
        return {"answers": torch.tensor([len(run.tracked)])}

    run = Run(CPU, 1, tracker=tracker)
    with run.phase("unlearn"):
        for _ in run.epochs(3, copy.deepcopy(base)):
            time_.passes(10)
    assert [kept["answers"].item() for kept in run.tracked] == [0, 1, 2]
    assert all(kept.keys() == {"answers"} for kept in run.tracked)
    assert run.tracked_seconds == [10, 20, 30]
    assert run.history == []


def test_a_resumed_run_keeps_what_was_tracked_before(base, time_, tmp_path):
    def work(kill_at: int | None = None) -> Run:
        checkpoints = Checkpoints(tmp_path, "job", ALWAYS)
        tracker = lambda _: {"answers": torch.tensor([time_.now])}  # noqa: E731
        run = Run(CPU, 1, checkpoints=checkpoints, tracker=tracker)
        with run.phase("unlearn"):
            for epoch in run.epochs(3, copy.deepcopy(base)):
                time_.passes(10)
                if epoch == kill_at:
                    raise Killed
        return run

    with pytest.raises(Killed):
        work(kill_at=2)
    resumed = work()
    assert [kept["answers"].item() for kept in resumed.tracked] == [110, 120, 140]
    assert resumed.tracked_seconds == [10, 20, 30]


def test_tracking_leaves_every_module_in_its_mode(base, examples):
    model = copy.deepcopy(base)
    start_training(model, TrainedParams(lr=0.1, batchnorm="frozen"))
    run = Run(CPU, 1, tracker=lambda model: {"tracked": torch.tensor(accuracy(model, examples))})
    before = [module.training for module in model.modules()]
    assert sorted(set(before)) == [False, True]
    assert list(run.epochs(2, model)) == [0, 1]
    assert [module.training for module in model.modules()] == before
    assert not any(m.training for m in model.modules() if isinstance(m, _BatchNorm))


# The clock


class Time:
    """A clock that stands still until it is told to go on."""

    def __init__(self):
        self.now = 100.0

    def passes(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def time_(monkeypatch) -> Time:
    fake = Time()
    monkeypatch.setattr("collateral.training.run.time.perf_counter", lambda: fake.now)
    return fake


def test_an_inner_phase_does_not_count_for_the_outer_one(time_):
    clock = Clock(CPU)
    time_.passes(1)
    with clock.phase("outer"):
        time_.passes(2)
        with clock.phase("inner"):
            time_.passes(4)
        time_.passes(8)
        with clock.phase("inner"):
            time_.passes(16)
    time_.passes(32)
    assert clock.seconds == {"outer": 10, "inner": 20}


def test_the_clock_stops_in_a_pause(time_):
    clock = Clock(CPU)
    with clock.phase("work"):
        time_.passes(1)
        with clock.phase(None):
            time_.passes(2)
        time_.passes(4)
    assert clock.seconds == {"work": 5}


def test_a_phase_that_fails_is_left_all_the_same(time_):
    clock = Clock(CPU)
    with clock.phase("outer"):
        with pytest.raises(Killed), clock.phase("inner"):
            time_.passes(1)
            raise Killed
        time_.passes(2)
    assert clock.seconds == {"inner": 1, "outer": 2}


def test_tracking_and_saving_are_off_the_clock(base, time_, tmp_path, monkeypatch):
    def tracker(_model):
        time_.passes(100)
        return {}

    monkeypatch.setattr(Checkpoints, "save", lambda *_: time_.passes(1000))
    run = Run(CPU, 1, checkpoints=Checkpoints(tmp_path, "job", ALWAYS), tracker=tracker)
    with run.phase("unlearn"):
        for _ in run.epochs(3, copy.deepcopy(base)):
            time_.passes(1)
    assert run.clock.seconds == {"unlearn": 3}


def test_a_resumed_run_counts_what_led_to_its_checkpoint_once(base, time_, tmp_path):
    def work(kill_at: int | None = None) -> Run:
        run = Run(CPU, 1, checkpoints=Checkpoints(tmp_path, "job", ALWAYS))
        with run.phase("unlearn"):
            with run.phase("embedding"):
                time_.passes(10)
            time_.passes(1)
            for epoch in run.epochs(3, copy.deepcopy(base)):
                time_.passes(100)
                if epoch == kill_at:
                    raise Killed
        return run

    with pytest.raises(Killed):
        work(kill_at=1)
    assert work().clock.seconds == {"embedding": 10, "unlearn": 301}


# Log, seeds


def test_values_of_one_epoch_share_a_row_and_loops_do_not(base):
    run = Run(CPU, 1)
    for loop in (1, 2):
        for epoch in run.epochs(2, base):
            run.log(epoch=epoch, loss=float(10 * loop + epoch))
            run.log(epoch=epoch, accuracy=0.5)
    assert run.history == [
        {"loop": 1, "epoch": 0, "loss": 10.0, "accuracy": 0.5},
        {"loop": 1, "epoch": 1, "loss": 11.0, "accuracy": 0.5},
        {"loop": 2, "epoch": 0, "loss": 20.0, "accuracy": 0.5},
        {"loop": 2, "epoch": 1, "loss": 21.0, "accuracy": 0.5},
    ]


def test_seeded_draws_from_the_runs_seed_and_leaves_the_global_generator_as_it_was():
    def weights(seed: int) -> torch.Tensor:
        run = Run(CPU, seed)
        torch.manual_seed(123)
        before = torch.get_rng_state()
        with run.seeded():
            model = new_model()
        assert torch.equal(torch.get_rng_state(), before)
        return model.head.weight

    assert torch.equal(weights(1), weights(1))
    assert not torch.equal(weights(1), weights(2))


def test_two_seeded_models_of_one_run_differ():
    run = Run(CPU, 1)
    with run.seeded():
        one = new_model()
    with run.seeded():
        other = new_model()
    assert not same(one, other)


def test_seeded_leaves_the_global_generator_as_it_was_after_an_error():
    run = Run(CPU, 1)
    before = torch.get_rng_state()
    with pytest.raises(Killed), run.seeded():
        torch.rand(3)
        raise Killed
    assert torch.equal(torch.get_rng_state(), before)
