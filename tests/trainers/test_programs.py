"""The programs as a person starts them."""

import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

from quatre_tf.ranking.results import Results
from tests import commands
from trainers.command_line import MODULES
from trainers.training.config import TrainConfig
from trainers.training.presets import resolve

ROOT = pathlib.Path(__file__).parent.parent.parent
PROGRAMS = [
    "trainers.fit",
    "trainers.evaluate",
    "trainers.predict",
    "trainers.explore",
    "trainers.import_openke",
    "saved_models.export",
    "saved_models.add_entities",
]
QUIET = {k: v for k, v in os.environ.items() if k != "TF_CPP_MIN_LOG_LEVEL"}


def start(module, *arguments):
    return subprocess.Popen(
        # Unbuffered: a reader that is gone is noticed at the first line, however short the text.
        [sys.executable, "-u", "-m", module, *map(str, arguments)],
        cwd=ROOT,
        env=QUIET,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell starts background jobs with SIGINT ignored, and children inherit it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def run(module, *arguments):
    """Returns (exit code, stdout, stderr)."""
    process = start(module, *arguments)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


@pytest.mark.parametrize("module", PROGRAMS)
def test_help_needs_no_tensorflow(module):
    """Blocking the import is a sharper test than a clock."""
    code = (
        "import sys, runpy; sys.modules['tensorflow'] = None; sys.modules['keras'] = None;"
        f"sys.argv = ['{module}', '--help']; runpy.run_module('{module}', run_name='__main__')"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert "--run_dir" in result.stdout
    assert result.stderr == ""


FLAG = re.compile(r"^  --(?:\[no\])?(\w+):", re.MULTILINE)


@pytest.mark.parametrize("module", ["trainers.fit", "trainers.compare"])
def test_help_all_shows_settings_and_data_flags(module):
    _, out, _ = run(module, "--help_all")
    assert {"embedding_dim", "learning_rate", "tie_policy", "manual_dir"} <= set(FLAG.findall(out))


@pytest.mark.parametrize("module", MODULES.values())
def test_first_page_of_help_is_short(module):
    _, page, _ = run(module, "--help")
    _, complete, _ = run(module, "--help_all")
    shown, every = FLAG.findall(page), FLAG.findall(complete)
    assert len(shown) <= 12
    assert set(shown) < set(every)
    assert f"All {len(every)} flags: --help_all" in page
    if module == "trainers.fit":
        assert {f.name for f in dataclasses.fields(TrainConfig)} < set(every)


def test_print_config_needs_no_tensorflow():
    code = (
        "import sys, runpy; sys.modules['tensorflow'] = None; sys.modules['keras'] = None;"
        "sys.argv = 'fit --dataset=fb15k237 --recipe=strong --n3=0.05 --print_config'.split();"
        "runpy.run_module('trainers.fit', run_name='__main__')"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0
    settings = json.loads(result.stdout)
    assert TrainConfig(**settings) == resolve("fb15k237", "strong", {"n3": 0.05})
    assert (settings["n3"], settings["dura"]) == (0.05, 0.0)
    note = "--n3=0.05 replaces the preset's dura=0.06; give --dura to use both.\n"
    assert result.stderr == note


@pytest.mark.parametrize(
    ("arguments", "recipe", "minutes", "note"),
    [
        (["--dataset=nations"], "paper", 0.0, ""),
        (["--recipe=strong"], "strong", 0.0, ""),
        ([], "sampled", 5.0, "Training with --recipe=sampled --budget_minutes=5; give"),
        (["--epochs=7"], "sampled", 0.0, "Training with --recipe=sampled; give"),
        (["--budget_minutes=2"], "sampled", 2.0, "--recipe=sampled --budget_minutes=2; give"),
    ],
)
def test_recipe_and_budget_that_are_not_given(arguments, recipe, minutes, note):
    own = [f"--dataset={ROOT}/examples/elements/facts.csv"]
    code, out, err = run("trainers.fit", *own, *arguments, "--print_config")
    settings = json.loads(out)
    assert (code, settings["recipe"], settings["budget_minutes"]) == (0, recipe, minutes)
    assert note in err
    assert bool(note) == bool(err)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model=hole"], "value should be one of <quatre|quate|quatre_head|quatre_tail|"),
        (["--variant=quate"], "flag --variant=quate: Use --model."),
        (["--datset=wn18rr"], "Unknown command line flag 'datset'. Did you mean: dataset ?"),
        ([], "error: --dataset is needed, for example --dataset=countries."),
        (["--dataset=countries", "--epochs=0"], "error: --epochs must be at least 1. Received: 0."),
        (["--dataset=wn18r"], "error: Unknown dataset 'wn18r'. Did you mean 'wn18rr'"),
        (["--resume"], "error: --resume needs --run_dir"),
        (["wn18rr"], "error: Unexpected argument 'wn18rr'"),
    ],
)
def test_flag_errors_are_one_clean_message(arguments, message):
    code, out, err = run("trainers.fit", *arguments)
    assert code == 1
    assert message in err
    assert out == ""
    assert "Traceback" not in err


def test_fit_evaluate_predict_export(family, tmp_path):
    run_dir = tmp_path / "run"
    sizes = [
        "--recipe=paper",
        "--embedding_dim=4",
        "--epochs=2",
        "--validate_every=1",
        "--batch_size=8",
    ]
    code, out, err = run("trainers.fit", f"--dataset={family}", f"--run_dir={run_dir}", *sizes)
    assert (code, err) == (0, "")
    assert "Filtered ranking, test split: 8 triples" in out

    figures = tmp_path / "figures.json"
    code, out, err = run("trainers.evaluate", f"--run_dir={run_dir}", f"--output={figures}")
    assert (code, err) == (0, "")
    evaluated = Results.load(figures)
    tested = Results.load(run_dir / "test_metrics.json")
    assert evaluated.metrics(side="head") == tested.metrics(side="head")
    assert "Type constraint from train only" in out
    early = tmp_path / "early.json"
    process = start("trainers.evaluate", f"--run_dir={run_dir}", f"--output={early}")
    process.stdout.close()
    process.wait(timeout=120)
    assert Results.load(early) == evaluated

    # TensorFlow's notes at its import are not looked for again: these have it imported.
    question = [f"--run_dir={run_dir}", "--relation=parent_of"]
    code, printed = commands.run("trainers.predict", *question, "--head=p1", "--top_k=3")
    assert code == 0, printed
    assert [line.split()[0] for line in printed.splitlines()[-3:]] == ["1", "2", "3"]
    code, printed = commands.run("trainers.predict", *question, "--head=P1x")
    assert code == 1
    assert "error: Unknown entity 'P1x'. Did you mean 'p1" in printed

    export = [f"--run_dir={run_dir}", f"--output={tmp_path}/out"]
    code, printed = commands.run("saved_models.export", *export)
    assert code == 0, printed
    assert (tmp_path / "out" / "1" / "saved_model.pb").is_file()


def test_ctrl_c_saves_and_says_how_to_go_on(family, tmp_path):
    run_dir = tmp_path / "run"
    process = start(
        "trainers.fit",
        f"--dataset={family}",
        f"--run_dir={run_dir}",
        "--recipe=paper",
        "--embedding_dim=4",
        "--epochs=1000000",
        "--validate_every=1",
        "--patience=0",
    )
    deadline = time.monotonic() + 90
    while not (run_dir / "metrics.jsonl").exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    hint = f"quatre fit --run_dir={run_dir} --resume"
    assert err == f"Interrupted. To go on: {hint}\n"
    assert list((run_dir / "checkpoints").glob("*.index"))


def test_unknown_candidate_sets_are_refused_before_tensorflow(tmp_path):
    code = (
        "import sys, runpy; sys.modules['tensorflow'] = None; sys.modules['keras'] = None;"
        f"sys.argv = ['evaluate', '--run_dir={tmp_path}', '--candidates=all,typed'];"
        "runpy.run_module('trainers.evaluate', run_name='__main__')"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    assert result.stderr == (
        "error: Unknown candidate set 'typed' in --candidates. "
        "Available: all, type_constrained, train_type_constrained.\n"
    )
