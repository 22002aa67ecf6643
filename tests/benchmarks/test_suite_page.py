"""No program, and nothing that one wrote, is hidden."""

import pathlib
import re

import benchmarks

FOLDER = pathlib.Path(benchmarks.__file__).parent
PAGE = (FOLDER / "README.md").read_text("utf-8")


def test_the_page_has_every_program_with_a_command():
    programs = {
        path.stem for path in FOLDER.glob("*.py") if "run_program(main)" in path.read_text()
    }
    assert len(programs) > 5
    rows = re.findall(r"^\| \[(\w+)\.py\]\(\1\.py\) \|.*`python -m benchmarks\.\1\b", PAGE, re.M)
    assert len(rows) == len(set(rows))
    assert set(rows) == programs


def test_links_hold():
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", PAGE):
        assert (FOLDER / target).exists(), target
