"""The training examples as people run them."""

import json
import re

from tests import commands

SPLITS = ("train", "valid", "test")


def test_train_with_keras(tmp_path):
    output = f"--output={tmp_path}/new/model.keras"
    code, printed = commands.run("examples.train_with_keras", "--epochs=1", output)
    assert code == 0, printed
    figures = [float(figure) for figure in re.findall(r"val_mrr: (\S+)", printed)]
    assert len(figures) == 1
    # Frequencies alone reach 0.125 (tests/trainers/training/test_learning.py).
    assert figures[0] > 0.25
    assert re.search(r"^Test split: MRR 0\.\d{4}", printed, re.MULTILINE)
    assert (tmp_path / "new" / "model.keras").is_file()
    assert "Warning" not in printed


def test_train_own_tsv(tmp_path):
    """A ring of 40: each node has a next one, and one after that."""
    steps = (("next", 1), ("after next", 2))
    lines = [f"n{i}\t{name}\tn{(i + k) % 40}" for i in range(40) for name, k in steps]
    path = tmp_path / "facts.tsv"
    path.write_text("\n".join(lines), encoding="utf-8")
    flags = [f"--triples={path}", f"--output={tmp_path}/out", "--epochs=1"]
    code, printed = commands.run("examples.train_own_tsv", *flags)
    assert code == 0, printed
    splits = {
        name: (tmp_path / "out" / "graph" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
        for name in SPLITS
    }
    assert {name: len(splits[name]) for name in SPLITS} == {"train": 64, "valid": 8, "test": 8}
    assert sorted(line for split in splits.values() for line in split) == sorted(lines)
    metrics = json.loads((tmp_path / "out/run/test_metrics.json").read_text(encoding="utf-8"))
    assert metrics["num_triples"] == 8
    assert (tmp_path / "out/run/saved_model/1/saved_model.pb").is_file()
