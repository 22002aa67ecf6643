"""The README is what newcomers run; .ci/run runs the same lines."""

from tests.documents import ROOT, blocks


def command(name):
    found = [block.text for block in blocks(ROOT / "README.md", "sh") if block.mark == name]
    assert len(found) == 1, f"README has {len(found)} commands marked {name}"
    return found[0].rstrip("\n")


def test_both_commands_are_one_line_each_with_their_own_environment():
    for name in ("quick-start", "tests"):
        assert "\n" not in command(name)
        assert command(name).startswith("python3 -m venv .venv && .venv/bin/pip install -e ")


def test_quick_start_trains_and_asks():
    assert "quatre fit --dataset=countries" in command("quick-start")
    assert "examples.ask_saved_model" in command("quick-start")


def test_ci_runs_the_commands_of_the_readme():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for name in ("quick-start", "tests"):
        assert f'"$(readme_command {name})"' in script


def test_first_page_of_the_documentation_has_the_same_quick_start():
    (block,) = blocks(ROOT / "docs" / "index.md", "sh")
    typed = [line for line in block.commands() if not line.startswith("source ")]
    assert " && ".join(typed) == command("quick-start").replace(".venv/bin/", "")
