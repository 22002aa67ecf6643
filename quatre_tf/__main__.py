"""The `quatre` command, which is also `python -m quatre_tf`: the project's programs in any folder.

A wheel keeps the packages of the programs in `quatre_tf/_programs`. Only the process of the command
has that folder on its path, so `import datasets` in other programs is still Hugging Face's.
"""

import importlib
import pathlib
import sys


def main() -> None:
    """Runs the program that the command line names; see `trainers.command_line`."""
    library = pathlib.Path(__file__).resolve().parent
    installed = library / "_programs"
    # A checkout has the packages next to the library.
    sys.path.insert(0, str(installed if installed.is_dir() else library.parent))
    importlib.import_module("trainers.command_line").main()


if __name__ == "__main__":
    main()
