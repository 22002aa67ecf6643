"""The `quatre` command: its overview, its programs, and completion in the shell.

`quatre fit` and `python -m trainers.fit` run the same program.
"""

import argparse
import ast
import difflib
import importlib
import os
import pathlib
import runpy
import sys
from typing import Any

from quatre_tf import __version__

# By topic, in the order of the overview: the module of each program.
PROGRAMS = {
    "Data": {"prepare": "datasets.prepare", "describe": "datasets.describe"},
    "Training": {
        "fit": "trainers.fit",
        "compare": "trainers.compare",
        "tune": "trainers.tune",
        "import-embeddings": "trainers.import_embeddings",
        "import-openke": "trainers.import_openke",
        "build-kernel": "trainers.build_kernel",
    },
    "Finished runs": {
        "evaluate": "trainers.evaluate",
        "predict": "trainers.predict",
        "ask": "trainers.ask",
        "explore": "trainers.explore",
        "analyze": "trainers.analyze",
        "embeddings": "trainers.embeddings",
    },
    "Serving": {"export": "saved_models.export", "add-entities": "saved_models.add_entities"},
}
MODULES = {name: module for programs in PROGRAMS.values() for name, module in programs.items()}
# Of the packages.
_ROOT = pathlib.Path(__file__).parent.parent
_OVERVIEW = """\
Knowledge-graph embeddings: train a model, ask it questions, serve it.

Usage: quatre PROGRAM --flag=value

{programs}

`quatre PROGRAM --help` shows the flags of a program.
Completion in bash and zsh: eval "$(register-python-argcomplete quatre)"
To begin: quatre fit --dataset=countries --run_dir=runs/countries"""


def main() -> None:
    """Runs the program that the command line names, as `python -m MODULE` does."""
    if "_ARGCOMPLETE" in os.environ:
        _complete(os.environ["COMP_LINE"].split()[1:])
    name = sys.argv[1] if len(sys.argv) > 1 else "--help"
    if name in ("--help", "-h", "help"):
        print(overview())
    elif name == "--version":
        print(f"quatre {__version__}")
    elif name in MODULES:
        del sys.argv[1]
        runpy.run_module(MODULES[name], run_name="__main__", alter_sys=True)
    else:
        close = difflib.get_close_matches(name, MODULES, n=1)
        suggestion = f"Did you mean {close[0]!r}?" if close else "See: quatre --help"
        sys.exit(f"error: Unknown program {name!r}. {suggestion}")


def overview() -> str:
    """Returns the text of `quatre --help`."""
    width = max(map(len, MODULES))
    sections = []
    for topic, programs in PROGRAMS.items():
        lines = [f"  {name:{width}}  {_summary(module)}" for name, module in programs.items()]
        sections.append("\n".join([f"{topic}:", *lines]))
    return _OVERVIEW.format(programs="\n\n".join(sections))


def _summary(module: str) -> str:
    """Returns the first line of a module's docstring; does not import the module."""
    path = _ROOT.joinpath(*module.split(".")).with_suffix(".py")
    return (ast.get_docstring(ast.parse(path.read_bytes())) or "").partition("\n")[0]


def _complete(words: list[str]) -> None:
    """Tells the shell what may follow the words after `quatre`, and exits."""
    import argcomplete
    from argcomplete.completers import FilesCompleter

    from datasets.program import places_of_flags
    from datasets.published.benchmarks import NAMES

    parser = argparse.ArgumentParser(prog="quatre")
    subparsers = parser.add_subparsers()
    for name, module in MODULES.items():
        subparser = subparsers.add_parser(name, add_help=False)
        if name not in words[:1]:
            continue
        importlib.import_module(module)
        for flag in places_of_flags(module):
            if flag.boolean:
                subparser.add_argument(f"--{flag.name}", f"--no{flag.name}", action="store_true")
            else:
                choices = getattr(flag.parser, "enum_values", None)
                value: Any = subparser.add_argument(f"--{flag.name}", choices=choices)
                if flag.name == "dataset":
                    value.completer = lambda prefix, **_: [*NAMES, *FilesCompleter()(prefix)]
    argcomplete.autocomplete(parser)
