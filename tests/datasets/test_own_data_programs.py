"""The programs as a person starts them, on the example of docs/own_data.md."""

import json
import pathlib

from tests import commands
from tests.documents import ROOT, blocks

PREPARE = (
    "$ quatre prepare --input=examples/elements/facts.csv --labels=examples/elements/labels.csv "
    "--output=data/elements\n"
)
ELEMENTS = ROOT / "examples" / "elements"


def test_prepare_and_describe(tmp_path):
    """The tutorial shows what is printed, so what is printed may not change unnoticed."""
    out = tmp_path / "elements"
    code, printed, errors = commands.launch(
        "-m",
        "datasets.prepare",
        f"--input={ELEMENTS / 'facts.csv'}",
        f"--labels={ELEMENTS / 'labels.csv'}",
        f"--output={out}",
    )
    assert (code, errors) == (0, "")
    (page,) = (
        block.text.removeprefix(PREPARE)
        for block in blocks(ROOT / "docs" / "own_data.md", "")
        if block.text.startswith(PREPARE)
    )
    shown = page.split("[...]\n")
    assert len(shown) == 3
    places = [printed.replace(str(out), "data/elements").find(part) for part in shown]
    assert places[0] == 0
    assert places == sorted(set(places))
    describe = ["-m", "datasets.describe", f"--dataset={out}"]
    code, described, errors = commands.launch(*describe, f"--output={out}.json")
    assert (code, errors) == (0, "")
    assert described.strip() in printed
    code, as_json, errors = commands.launch(*describe, "--format=json")
    facts = json.loads(as_json)
    assert facts == json.loads(pathlib.Path(f"{out}.json").read_text())
    report = json.loads((out / "report.json").read_text())
    assert facts == report
    # A report on other triples says nothing about these.
    with (out / "train.txt").open("a") as train:
        train.write("made_up\tmade_of\tnothing\n")
    _, as_json, _ = commands.launch(*describe, "--format=json")
    assert "preparation" not in json.loads(as_json)


def test_describe_tells_how_a_file_was_read_and_split(tmp_path):
    path = tmp_path / "facts.csv"
    header, facts = (ELEMENTS / "facts.csv").read_text().split("\n", 1)
    path.write_text(f"{header}\n{facts}{facts}")
    code, printed, errors = commands.launch("-m", "datasets.describe", f"--dataset={path}")
    assert (code, errors) == (0, "")
    assert printed.startswith("facts.csv: ")
    assert "Split: " in printed
    assert "repeated triples were dropped" in printed


def test_describe_tells_where_a_benchmark_is_from(archive_dir, tmp_path):
    flags = ["--dataset=nations", f"--manual_dir={archive_dir}", f"--data_dir={tmp_path}"]
    code, printed = commands.run("datasets.describe", *flags)
    assert code == 0
    assert "\nhttps://github.com/TimDettmers/ConvE\nLicense: not stated" in printed
    assert "@inproceedings{kemp2006learning," in printed
    code, printed = commands.run("datasets.describe", *flags, "--format=json")
    assert json.loads(printed)["license"] == "not stated by its publishers"
