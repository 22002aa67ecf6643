"""What the pages tell a reader to type works, or says why it is not tried here.

A fenced block `sh` without a mark is executed below, from the top of a page to its end, in a folder
like a checkout after the quick start. A comment in the line above it says otherwise:

    <!-- not run: REASON -->
    <!-- run by PATH -->       another test runs its programs; `: ...` may follow
"""

import functools
import re
import shlex

import pytest

from docs import api_stubs
from tests import commands
from tests.documents import PAGES, ROOT, blocks, links
from trainers.command_line import MODULES

SHELL = [block for page in PAGES for block in blocks(page, "sh")]
# .ci/run executes these, and fails where the README does not have them.
CI = ("quick-start", "tests")
# Programs that are not of the checkout, and why they are left alone.
NOT_OURS = ("pip", "tensorboard")  # installing is CI's, and TensorBoard does not end by itself
EXECUTED = [block for block in SHELL if not block.mark]
COUNTRIES = "--dataset=countries --embedding_dim=8 --epochs=1 --run_dir=runs/countries"
# `quatre PROGRAM --flags`, in a block or in a line of text, where it may be broken.
TYPED = re.compile(
    r"(?:\bquatre\s(?P<program>[a-z][a-z-]*)|python -m (?P<module>(?:[a-z_]+\.)+[a-z_]+))"
    r"(?P<flags>(?:\s+(?:\\\n\s*)?--[^\s`]+)*)"
)


def _typed(text):
    """(module, flags) of the programs that a text starts."""
    for found in TYPED.finditer(text):
        yield found["module"] or MODULES[found["program"]], found["flags"]


@pytest.mark.parametrize("block", SHELL, ids=str)
def test_every_block_is_run_or_says_why_not(block):
    kind, _, rest = block.mark.partition(" ")
    if block.mark in CI or not block.mark:
        return
    if block.mark.startswith("not run: "):
        assert len(block.mark) > len("not run: ") + 10, "a reason, please"
        return
    assert (kind, rest[:3]) == ("run", "by "), block.mark
    test = (ROOT / rest[3:].split(":")[0]).read_text(encoding="utf-8")
    names = [module.split(".")[-1] for module, _ in _typed(block.text)]
    assert [name for name in names if name not in test] == []


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A folder with the examples, and a small run of countries."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "examples").symlink_to(ROOT / "examples")
    code, printed = commands.run("trainers.fit", *COUNTRIES.split(), folder=folder)
    assert code == 0, printed
    return folder


@pytest.fixture(scope="module")
def outcome(checkout):
    """`outcome(command)` -> (exit code, what was printed); the same command runs once."""

    @functools.cache
    def run(command):
        assert list(_typed(command)), f"not a program of the project: {command}"
        return commands.type_in(command, checkout)

    return run


@pytest.mark.parametrize("block", EXECUTED, ids=str)
def test_commands(block, outcome):
    typed = [line for line in block.commands() if shlex.split(line)[0] not in NOT_OURS]
    assert typed, "nothing in it is run: say why in a mark"
    for command in typed:
        code, printed = outcome(command)
        assert code == 0, f"{command}\n{printed}"


@functools.cache
def _flags(module):
    code, printed = commands.run(module, "--help_all")
    assert code == 0, f"{module}: {printed}"
    return set(re.findall(r"^\s+(?:-\w,)?--(?:\[no\])?(\w+):", printed, re.MULTILINE)) | {"help"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_programs_and_flags_that_are_named_exist(page):
    for module, typed in _typed(page.read_text(encoding="utf-8")):
        unknown = set(re.findall(r"--(\w+)", typed)) - _flags(module)
        assert not unknown, f"{module} has no {sorted(unknown)}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_files_hold(page):
    assert [link for link in links(page) if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", sorted(api_stubs.API.glob("*.md")), ids=lambda page: page.name)
def test_signatures_are_those_of_the_code(page):
    text = page.read_text(encoding="utf-8")
    assert api_stubs.render(text) == text, "python -m docs.api_stubs writes them"
