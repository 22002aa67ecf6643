"""Settings chosen by short runs: the search on made-up figures, and a real one."""

import dataclasses
import math
import pathlib
import types

import pytest

from datasets import catalog
from quatre_tf.errors import DataError, TrainingError
from tests import commands
from tests.trainers.training.misfortunes import export_little
from tests.trainers.training.wiring import eagerly, random_graph
from trainers.training import presets
from trainers.training.config import TrainConfig
from trainers.training.fitting import fit
from trainers.tuning import choosing

DEFAULTS = presets.resolve("", "sampled", {"budget_minutes": 10.0})
# Seconds of an epoch with 64 components.
EPOCH = 0.5


def figure(config):
    """Best at N3 .1, learning rate .3 and batch size 250, each on a logarithmic scale."""
    weight = config.n3 or config.dura / 100 or 1e-6
    misses = (weight / 0.1, config.learning_rate / 0.3, (config.batch_size or 1000) / 250)
    return 0.5 - 0.01 * sum(math.log(miss) ** 2 for miss in misses)


@pytest.fixture
def search(family, monkeypatch, capsys):
    """`search(fixed, figure)` -> settings, trials and lines of a search on made-up figures."""

    def run(*fixed, config=DEFAULTS, figure=figure, trial=6.0, epoch=EPOCH):
        time, trials = [0.0], []

        def train(self, config):
            time[0] += trial
            trials.append(config)
            self._epochs = self._seconds / time_epoch(self, config)
            return figure(config)

        def time_epoch(_self, config):
            return epoch * config.embedding_dim / 64

        monkeypatch.setattr(choosing._Search, "_train", train)
        monkeypatch.setattr(choosing._Search, "_time_epoch", time_epoch)
        # Nothing was trained, and a look for garbage takes a second.
        monkeypatch.setattr(choosing, "free_memory", lambda: None)
        graph = catalog.load(str(family))
        chosen = choosing.choose(fixed, config, graph, lambda: time[0])
        return chosen, trials, capsys.readouterr().out.splitlines()

    return run


def test_best_values_are_found_and_printed(search):
    chosen, trials, lines = search()
    assert 0.05 < chosen.n3 < 0.2
    assert (chosen.learning_rate, chosen.batch_size, chosen.dura) == (0.3, 250, 0.0)
    assert lines[0] == "Short runs, at most 200 s; validation MRR with"
    assert len(lines) == len(trials) + 4
    short = [config for config in trials if config.embedding_dim == 64]
    best = f"  {'--batch_size=250':32} {max(map(figure, short)):.4f}  best so far"
    assert best in lines
    assert lines[-2].startswith("Chosen: ")
    assert "--batch_size=250" in lines[-2]
    assert "--learning_rate=0.3" in lines[-2]


def test_trainings_are_small_and_end_with_a_third_of_the_time(search):
    chosen, trials, _ = search(trial=30.0, figure=lambda config: config.n3)
    assert [config.embedding_dim for config in trials] == [64] * 3 + [128] * 3
    # The graph is smaller than a sample of candidates.
    assert {config.recipe for config in trials} == {chosen.recipe} == {"strong"}


def test_less_than_a_few_epochs_are_not_compared(search, family):
    graph = catalog.load(str(family))
    chosen, trials, lines = search(epoch=5.0)
    assert len(trials) == 1
    assert chosen.n3 == trials[0].n3 == choosing._typical_n3(DEFAULTS, graph)
    assert (chosen.learning_rate, chosen.batch_size) == (DEFAULTS.learning_rate, 0)
    assert (trials[0].max_answers, chosen.max_answers) == (0, 4)
    assert "Only 2 epochs fit into a short run: too few to compare." in lines


def test_queries_are_not_split_where_that_is_given_or_not_read(search):
    given, _, _ = search("max_answers", epoch=5.0)
    assert given.max_answers == 0
    config = presets.resolve("", "self_adversarial", {"budget_minutes": 10.0})
    other, _, _ = search(config=config, epoch=5.0)
    assert other.max_answers == 0


def test_a_lower_rate_is_tried_where_the_first_run_diverges(search):
    def diverge(config):
        if config.learning_rate > 0.05:
            raise TrainingError("The loss is not finite.")
        return 0.3

    chosen, trials, _ = search(epoch=5.0, figure=diverge)
    assert [config.learning_rate for config in trials] == [0.1, 0.033]
    assert chosen.learning_rate == 0.033


def test_short_runs_have_few_candidates(family, monkeypatch):
    built = []

    def build(config, *_):
        built.append(config.num_candidates)
        raise TrainingError("Nothing is trained.")

    monkeypatch.setattr(choosing, "Trainer", build)
    monkeypatch.setattr(choosing, "free_memory", lambda: None)
    graph = catalog.load(str(family))
    for fixed, few in (({"recipe"}, 512), ({"recipe", "num_candidates"}, 4096)):
        built.clear()
        with pytest.raises(TrainingError):
            choosing.choose(fixed, DEFAULTS, graph, lambda: 0.0)
        # The last one is of the size of the run.
        assert built == [few, few, few, 4096]


@pytest.mark.parametrize(
    ("num_entities", "num_triples", "weight"),
    # WN18RR, CoDEx-M and FB15k, near the presets: .1, .015, .0075; and Nations, where it is .022.
    [
        (40_943, 86_835, 0.094),
        (17_050, 185_584, 0.018),
        (14_951, 483_142, 0.0062),
        (14, 1592, 0.005),
    ],
)
def test_weight_to_begin_with(num_entities, num_triples, weight):
    graph = types.SimpleNamespace(num_entities=num_entities, train=range(num_triples))
    assert choosing._typical_n3(DEFAULTS, graph) == weight
    distance = presets.resolve("", "sampled", {"model": "transe"})
    assert choosing._typical_n3(distance, graph) == 0.0


@pytest.mark.parametrize(
    ("epoch", "dim", "epochs"),
    # About 500 s are left.
    [(0.2, 512, 200), (1.0, 512, None), (8.0, 128, None), (50.0, 64, None)],
)
def test_size_and_length_fit_the_time_that_is_left(search, epoch, dim, epochs):
    chosen, _, lines = search(epoch=epoch, figure=lambda config: config.embedding_dim)
    assert ("The run ends after 200 epochs, before the time is over." in lines) == bool(epochs)
    assert chosen.embedding_dim == dim
    if epochs:
        assert (chosen.epochs, chosen.budget_minutes, chosen.validate_every) == (epochs, 0, 10)
    else:
        assert chosen.budget_minutes == 10.0


def test_the_largest_size_has_to_be_better_where_the_run_ends_early(search):
    chosen, trials, _ = search(epoch=0.05, figure=lambda config: -abs(config.embedding_dim - 128))
    assert trials[-1].embedding_dim == 512
    assert (chosen.embedding_dim, chosen.n3, chosen.epochs) == (128, trials[-1].n3, 200)


def test_longer_trainings_show_that_more_regularization_pays_off(search):
    def heavier_is_better_later(config):
        best = 0.01 if config.embedding_dim == 64 else 0.04
        return 0.5 - 0.01 * math.log((config.n3 or 1e-6) / best) ** 2

    chosen, trials, lines = search(figure=heavier_is_better_later)
    longer = [config.n3 for config in trials if config.embedding_dim == 128]
    assert 0.005 < longer[0] < 0.02
    assert longer[1:] == pytest.approx([2.2 * longer[0], 4.8 * longer[0]], rel=0.05)
    assert chosen.n3 == longer[-1]
    assert "Longer ones, n = 128" in lines


def test_given_settings_are_kept(search):
    given = {"n3": 0.5, "embedding_dim": 32, "num_candidates": 7}
    config = dataclasses.replace(DEFAULTS, **given)
    chosen, trials, _ = search(*given, config=config)
    for tried in (chosen, *trials):
        assert {name: getattr(tried, name) for name in given} == given
        assert tried.recipe == "sampled"


def test_no_regularizer_may_be_best_for_distances(search):
    config = presets.resolve("", "sampled", {"budget_minutes": 10.0, "model": "transe"})
    chosen, trials, _ = search(config=config, figure=lambda config: -config.n3 - config.dura)
    assert (chosen.n3, chosen.dura) == (0.0, 0.0)
    assert len(set(trials)) == len(trials)


@pytest.mark.parametrize("fits", [True, False])
def test_all_entities_are_candidates_if_they_fit_into_memory(monkeypatch, fits):
    tried = []
    monkeypatch.setattr(choosing, "fits_in_memory", lambda config, _: fits)
    monkeypatch.setattr(choosing._Search, "_try", lambda _, **changes: tried.append(changes))
    search = choosing._Search(set(), DEFAULTS, random_graph(5000, 2, 100), lambda: 0.0)
    search._try_short()
    assert ({"recipe": "strong"} in tried) == fits


def test_collapsed_trainings_are_not_chosen(search):
    def collapse(config):
        if config.learning_rate > 0.1:
            raise TrainingError("The loss is not finite.")
        return figure(config)

    assert search(figure=collapse)[0].learning_rate == 0.1


def test_a_run_begins_with_settings_that_were_chosen(family, tmp_path, monkeypatch, capsys):
    """The time that the trainings take decides how many there are: a clock of their own."""
    export_little(monkeypatch)
    ticks = iter(range(10**6))
    given = {"budget_minutes": 1.0, "embedding_dim": 4, "learning_rate": 0.2}
    config = dataclasses.replace(presets.resolve("", "sampled", given), dataset=str(family))

    def choose(config, graph, clock):
        del clock
        chosen = choosing.choose(given, config, graph, lambda: next(ticks))
        return dataclasses.replace(chosen, budget_minutes=0.0, epochs=2, validate_every=1)

    monkeypatch.setattr(choosing, "_COMPARABLE_EPOCHS", 0)
    with eagerly():
        fit(config, tmp_path / "run", choose=choose)
    written = TrainConfig.from_file(tmp_path / "run" / "config.json")
    assert (written.recipe, written.embedding_dim, written.learning_rate) == ("strong", 4, 0.2)
    out = capsys.readouterr().out
    tried = [line for line in out.splitlines() if line.startswith("  --")]
    best = [line for line in tried if line.endswith("  best so far")][-1]
    assert best.startswith(f"  --n3={written.n3:g} ")


def test_nothing_is_chosen_for_a_folder_that_cannot_be_written(family):
    config = dataclasses.replace(DEFAULTS, dataset=str(family))
    with pytest.raises(DataError, match="Cannot write to /dev/null/run: Not a directory"):
        fit(config, pathlib.Path("/dev/null/run"), choose=lambda *_: pytest.fail("chosen"))


def test_optuna_is_not_needed():
    """It comes with the extra `tune`; `fit` does without."""
    flags = ("--dataset=umls", "--auto", "--run_dir=/dev/null/run")
    code, _, err = commands.launch_without("optuna", "trainers.fit", *flags)
    assert code == 1
    assert "/dev/null/run" in err.splitlines()[-1]
