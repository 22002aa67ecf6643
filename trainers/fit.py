"""Trains a model on a data set, evaluates it on the test split and exports it.

Usage: quatre fit --dataset=wn18rr

--dataset is a benchmark, a file of triples (CSV, TSV, RDF) or a folder of splits. Omitted flags
take the preset of the data set, model and recipe (for --recipe=paper on the paper's benchmarks, the
reference implementation's), or are chosen by short runs (--auto). Ctrl-C and SIGTERM save a
checkpoint; --resume continues from it.
"""

import dataclasses
import functools
import os
import pathlib
import shlex
import sys
import time
from collections.abc import Mapping
from typing import Any

from absl import flags

from datasets import catalog
from datasets.data_flags import DataFlags
from datasets.program import import_tensorflow, place_in_help, run_program
from quatre_tf.errors import ConfigError
from quatre_tf.paths import user_path
from trainers import setting_flags
from trainers.training import config as configs
from trainers.training import presets
from trainers.training.cluster import Cluster, membership
from trainers.training.resuming import check_resumable
from trainers.training.run_directory import RunDirectory
from trainers.training.signals import Preempted, preemptible

_DATA = DataFlags(default="")
_RUN_DIR = flags.DEFINE_string(
    "run_dir", None, "Folder of the run. Default: runs/DATASET-RECIPE-TIME."
)
_RESUME = flags.DEFINE_bool("resume", False, "Continue the run in --run_dir.")
_PRINT_CONFIG = flags.DEFINE_bool(
    "print_config", False, "Print the settings of the run as JSON, and do not train."
)
_AUTO = flags.DEFINE_bool(
    "auto",
    None,
    "Choose regularizer, learning rate, batch size, recipe and --embedding_dim by short runs, "
    "within --budget_minutes (default: 5). Default: on data without a preset, unless --recipe, "
    "--epochs or --validate_every is given, or TF_CONFIG is set.",
)
for _flag in (_RUN_DIR, _RESUME, _AUTO, _PRINT_CONFIG):
    place_in_help(_flag.name, "run", is_basic=_flag is not _PRINT_CONFIG)
_SETTINGS = setting_flags.SettingFlags()
# Of a run whose settings are chosen, if nothing says how long to train.
_BUDGET_MINUTES = 5.0


def main() -> int:
    """Translates the flags; see `fit`."""
    given = _SETTINGS.given()
    if _DATA.dataset:
        given["dataset"] = _DATA.dataset
    is_chosen = _is_chosen(given)
    fixed = [*given]
    run_dir, config = _resolve(given, is_chosen)
    if _PRINT_CONFIG.value:
        print(config.to_json(), end="")
        return 0
    cluster = Cluster.from_environment(config.strategy)

    import_tensorflow()
    from trainers.training.fitting import fit
    from trainers.training.strategies import serve
    from trainers.tuning.choosing import choose

    if cluster.is_server:
        serve(cluster)
    try:
        with preemptible(), membership(cluster, run_dir, _RESUME.value) as own_dir:
            fit(
                config,
                own_dir,
                resume=_RESUME.value,
                choose=functools.partial(choose, fixed) if is_chosen else None,
                **_DATA.given(),
            )
    except Preempted:
        sys.stderr.write(f"Stopped by SIGTERM. {_hint(run_dir)}\n")
    except KeyboardInterrupt:
        sys.stderr.write(f"Interrupted. {_hint(run_dir)}\n")
        return 130
    return 0


def _hint(run_dir: pathlib.Path) -> str:
    if not (run_dir / "config.json").exists():
        return "The run had not begun: start it again."
    return f"To go on: quatre fit --run_dir={shlex.quote(str(run_dir))} --resume"


def _is_chosen(given: Mapping[str, Any]) -> bool:
    """Returns whether settings are chosen by short runs."""
    if _AUTO.value is not None or _RESUME.value or "TF_CONFIG" in os.environ:
        return bool(_AUTO.value)
    dataset = given.get("dataset", "")
    has_preset = presets.has_preset(dataset, presets.default_recipe(dataset))
    lengths = given.keys() & presets.REPLACED_BY_A_BUDGET
    return not has_preset and "recipe" not in given and not lengths


def _resolve(given: dict[str, Any], is_chosen: bool) -> tuple[pathlib.Path, configs.TrainConfig]:
    if _RESUME.value:
        if is_chosen:
            raise ConfigError("--auto is for a new run: a resumed one keeps its settings.")
        if _RUN_DIR.value is None:
            raise ConfigError("--resume needs --run_dir, the run to go on with.")
        run_dir = user_path(_RUN_DIR.value)
        run = RunDirectory(run_dir)
        config = configs.resume(configs.TrainConfig.from_file(run.config_file), given)
        presets.check_lengths(config, given)
        check_resumable(run, config)
        return run_dir, config
    if "dataset" not in given:
        raise ConfigError("--dataset is needed, for example --dataset=countries.")
    catalog.check(given["dataset"])
    dataset, recipe = given.pop("dataset"), given.pop("recipe", None)
    if is_chosen:
        config = _defaults(dataset, recipe, given)
    else:
        if recipe is None:
            recipe = presets.default_recipe(dataset)
            if not presets.has_preset(dataset, recipe):
                sys.stderr.write(
                    f"Training with --recipe={recipe}, the default for data without a preset.\n"
                )
        config = presets.resolve(dataset, recipe, given)
        presets.check_lengths(config, given)
        if note := presets.replacement_note(dataset, recipe, given):
            sys.stderr.write(f"{note}\n")
    is_usual = config.num_replicas == configs.TrainConfig.num_replicas
    if config.strategy != "mirrored" and not is_usual:
        raise ConfigError(
            "--num_replicas is for --strategy=mirrored. Add that, or leave it out. Received: "
            f"--strategy={config.strategy}."
        )
    name = pathlib.Path(config.dataset).stem
    default = f"runs/{name}-{config.recipe}-{time.strftime('%Y%m%d-%H%M%S')}"
    return user_path(_RUN_DIR.value or default), config


def _defaults(dataset: str, recipe: str | None, given: dict[str, Any]) -> configs.TrainConfig:
    """Returns the settings from which others are chosen: no preset's."""
    if "TF_CONFIG" in os.environ:
        raise ConfigError("--auto chooses settings in one process: unset TF_CONFIG, or omit it.")
    recipe = recipe or "sampled"
    if recipe not in ("sampled", "strong") or given.keys() & presets.REPLACED_BY_A_BUDGET:
        raise ConfigError(
            "--auto chooses settings of --recipe=sampled and strong, for --budget_minutes. Omit "
            "--epochs, --validate_every and other recipes."
        )
    minutes = given.get("budget_minutes") or _BUDGET_MINUTES
    config = presets.resolve("", recipe, {**given, "budget_minutes": minutes})
    sys.stderr.write(
        f"Choosing settings and training within --budget_minutes={config.budget_minutes:g}; "
        "--noauto trains with the defaults.\n"
    )
    return dataclasses.replace(config, dataset=dataset)


if __name__ == "__main__":
    run_program(main)
