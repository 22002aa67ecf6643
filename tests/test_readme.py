"""The README is what newcomers run; .ci/run runs the same lines."""

import pathlib
import re

ROOT = pathlib.Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def command(name):
    match = re.search(rf"<!-- {name} -->\n```\w*\n(.*?)\n```", README, re.DOTALL)
    assert match, f"README has no command marked {name}"
    return match.group(1)


def test_both_commands_are_one_line_each_with_their_own_environment():
    for name in ("quick-start", "tests"):
        assert "\n" not in command(name)
        assert command(name).startswith("python3 -m venv .venv && .venv/bin/pip install -e ")


def test_quick_start_trains_and_asks():
    assert "trainers.fit --dataset=countries" in command("quick-start")
    assert "examples.ask_saved_model" in command("quick-start")


def test_ci_runs_the_commands_of_the_readme():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for name in ("quick-start", "tests"):
        assert f'"$(readme_command {name})"' in script


def test_links_to_files_hold():
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", README):
        assert (ROOT / target).exists(), target
