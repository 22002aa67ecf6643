"""The programs as a person starts them."""

import dataclasses
import json
import re

import pytest

from quatre_tf import Results
from tests import commands
from trainers.command_line import MODULES
from trainers.training.config import TrainConfig
from trainers.training.presets import resolve

HEAVY = "tensorflow keras"
FLAG = re.compile(r"^  --(?:\[no\])?(\w+):", re.MULTILINE)


@pytest.mark.parametrize("module", MODULES.values())
def test_first_page_of_help_is_short_and_needs_no_tensorflow(module):
    _, page, err = commands.launch_without(HEAVY, module, "--help")
    shown = FLAG.findall(page)
    (total,) = re.findall(r"All (\d+) flags: --help_all", page)
    assert len(shown) <= 12
    assert len(shown) < int(total)
    assert err == ""


def test_help_all_shows_settings_and_data_flags():
    _, page, _ = commands.launch("-m", "trainers.fit", "--help_all")
    every = set(FLAG.findall(page))
    assert {field.name for field in dataclasses.fields(TrainConfig)} | {"manual_dir"} < every


def test_print_config_needs_no_tensorflow():
    flags = ["--dataset=fb15k237", "--recipe=strong", "--n3=0.05", "--print_config"]
    code, out, err = commands.launch_without(HEAVY, "trainers.fit", *flags)
    assert code == 0
    settings = json.loads(out)
    assert TrainConfig(**settings) == resolve("fb15k237", "strong", {"n3": 0.05})
    assert (settings["n3"], settings["dura"]) == (0.05, 0.0)
    note = "--n3=0.05 replaces the preset's dura=0.06; give --dura to use both.\n"
    assert err == note


@pytest.mark.parametrize(
    ("arguments", "recipe", "minutes", "note"),
    [
        (["--dataset=nations"], "paper", 0.0, ""),
        ([], "sampled", 5.0, "Choosing settings and training within --budget_minutes=5; --noauto"),
        (["--n3=0.1", "--budget_minutes=2"], "sampled", 2.0, "within --budget_minutes=2; --noauto"),
        (["--noauto"], "sampled", 0.0, "Training with --recipe=sampled, the default for data"),
        (["--recipe=strong"], "strong", 0.0, ""),
        (["--recipe=strong", "--auto"], "strong", 5.0, "Choosing settings and training within"),
        (["--dataset=wn18rr", "--auto"], "sampled", 5.0, "Choosing settings and training within"),
        (["--budget_minutes=0"], "sampled", 5.0, "Choosing settings and training within"),
        (["--epochs=7"], "sampled", 0.0, "Training with --recipe=sampled, the default"),
        (["--dataset=codex-s"], "sampled", 0.0, ""),
    ],
)
def test_recipe_and_budget_that_are_not_given(arguments, recipe, minutes, note):
    own = [f"--dataset={commands.ROOT}/examples/elements/facts.csv"]
    code, out, err = commands.launch("-m", "trainers.fit", *own, *arguments, "--print_config")
    settings = json.loads(out)
    assert (code, settings["recipe"], settings["budget_minutes"]) == (0, recipe, minutes)
    assert note in err
    assert bool(note) == bool(err)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model=hole"], "value should be one of <quatre|quate|quatre_head|quatre_tail|"),
        (["--datset=wn18rr"], "Unknown command line flag 'datset'. Did you mean: dataset ?"),
        (["--dataset=countries", "--epochs=0"], "error: --epochs must be at least 1. Received: 0."),
        (
            ["--dataset=umls", "--auto", "--num_replicas=4"],
            "error: --num_replicas is for --strategy",
        ),
        (["--dataset=wn18r"], "error: Unknown dataset 'wn18r'. Did you mean 'wn18rr'"),
        (["--resume"], "error: --resume needs --run_dir"),
        (["--resume", "--auto"], "error: --auto is for a new run"),
        (
            ["--dataset=umls", "--budget_minutes=1", "--epochs=5"],
            "error: --budget_minutes=1 is in the place of --epochs. Leave one of them out",
        ),
        (["--dataset=umls", "--auto", "--epochs=5"], "error: --auto chooses settings of --recipe="),
        (["--dataset=umls", "--auto", "--recipe=paper"], "error: --auto chooses settings of --rec"),
    ],
)
def test_flag_errors_are_one_clean_message(arguments, message):
    code, out, err = commands.launch("-m", "trainers.fit", *arguments)
    assert code == 1
    assert message in err
    assert out == ""
    assert "Traceback" not in err


def test_processes_of_a_cluster_do_not_choose_settings_each_for_itself():
    flags = ("-m", "trainers.fit", "--dataset=umls", "--auto")
    code, out, err = commands.launch(*flags, TF_CONFIG="{}")
    assert (code, out) == (1, "")
    assert err.startswith("error: --auto chooses settings in one process: unset TF_CONFIG")


# CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH leave the bounding set: root has no more rights to files
# than others.
WITHOUT_RIGHTS = """
import ctypes, os, sys
for capability in (1, 2):
    ctypes.CDLL(None).prctl(24, capability)
os.execv(sys.executable, [sys.executable, "-m", "trainers.fit", *sys.argv[1:]])
"""


def test_fit_and_evaluate_print_nothing_but_their_lines(family, tmp_path):
    """And leave nothing in the home folder; tests/test_docs.py runs the programs that follow."""
    run_dir = tmp_path / "run"
    sizes = ["--embedding_dim=4", "--epochs=1", "--batch_size=8"]
    flags = [f"--dataset={family}", f"--run_dir={run_dir}", "--recipe=paper", *sizes]
    (home := tmp_path / "home").mkdir(mode=0o500)
    code, out, err = commands.launch("-c", WITHOUT_RIGHTS, *flags, HOME=str(home))
    assert (code, err) == (0, "")
    assert list(home.iterdir()) == []
    assert "Filtered ranking, test split: 8 triples" in out

    figures = tmp_path / "figures.json"
    evaluate = ["-m", "trainers.evaluate", f"--run_dir={run_dir}"]
    code, out, err = commands.launch(*evaluate, f"--output={figures}")
    assert (code, err) == (0, "")
    evaluated = Results.load(figures)
    tested = Results.load(run_dir / "test_metrics.json")
    assert evaluated.metrics(side="head") == tested.metrics(side="head")
    assert "Type constraint from train only" in out

    code, out = commands.run(*evaluate[1:], "--task=classification")
    assert code == 0
    assert "Triple classification, test split: 16 triples" in out
    assert "drawn at random" in out
    assert re.search(r"^sibling_of \(\d+\) ", out, re.MULTILINE)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ["--candidates=all,typed"],
            "Unknown candidate set 'typed' in --candidates. "
            "Available: all, type_constrained, train_type_constrained.",
        ),
        (
            ["--task=classification", "--compare_run_dir=x"],
            "--task=classification does not use --compare_run_dir. Leave it out.",
        ),
    ],
)
def test_flags_are_refused_before_tensorflow(tmp_path, flags, message):
    flags = [f"--run_dir={tmp_path}", *flags]
    code, _, err = commands.launch_without(HEAVY, "trainers.evaluate", *flags)
    assert (code, err) == (1, f"error: {message}\n")
