"""Virtual environments for `benchmarks.peers`, and processes in them."""

import json
import pathlib
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from quatre_tf.errors import DataError

# The wheel without CUDA: the other one comes with gigabytes of libraries that nothing here uses.
TORCH = "torch==2.13.0+cpu"
_REQUIREMENTS = {
    "pykeen": ["pykeen==1.11.1"],
    # Its release is older than NumPy 2, and needs the pkg_resources that setuptools 80 warns of.
    "biggraph": ["torchbiggraph==1.0.0", "numpy==1.26.4", "setuptools==79.0.1"],
}
_MARK = "requirements.txt"


def ensure(folder: pathlib.Path, peer: str, torch: str = TORCH) -> pathlib.Path:
    """Returns the Python of a peer's environment, after making it if it is not there as wanted.

    Args:
        folder: Where environments are kept; the peer's has its name.
        peer: `"pykeen"` or `"biggraph"`.
        torch: The requirement for PyTorch.

    Raises:
        DataError: It could not be made; what the installer said was shown.
    """
    place = folder.absolute() / peer
    requirements, python = requirements_of(peer, torch), place / "bin" / "python"
    mark = place / _MARK
    # Written last: an environment without it was not made to the end.
    if mark.exists() and mark.read_text(encoding="utf-8").splitlines() == requirements:
        return python
    sys.stdout.write(f"Making the environment {place}: {', '.join(requirements)}\n")
    sys.stdout.flush()
    commands = [
        [sys.executable, "-m", "venv", "--clear", str(place)],
        [str(python), "-m", "pip", "install", "--quiet", *requirements],
    ]
    for command in commands:
        if subprocess.run(command, check=False).returncode:
            raise DataError(_remedy(command, torch))
    mark.write_text("\n".join(requirements) + "\n", encoding="utf-8")
    return python


def requirements_of(peer: str, torch: str = TORCH) -> list[str]:
    """Returns what is installed for a peer."""
    return [torch, *_REQUIREMENTS[peer]]


def _remedy(command: Sequence[str], torch: str) -> str:
    return (
        f"`{' '.join(command)}` failed; what it said is above. If {torch} was not found: point pip "
        "to a folder (PIP_FIND_LINKS) or an index (PIP_EXTRA_INDEX_URL) that has the CPU wheel, or "
        f"give --torch={TORCH.partition('+')[0]}, which may bring several GB of CUDA libraries. "
        "If another package was not found for this Python: use 3.10 to 3.12."
    )


def versions(python: pathlib.Path) -> list[str]:
    """Returns everything that an environment has installed, as `name==version`."""
    command = [str(python), "-m", "pip", "freeze", "--all"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return output.split("\n")[:-1]


def run(command: Sequence[str], environment: Mapping[str, str]) -> dict[str, Any]:
    """Returns the JSON object that a process prints last.

    Raises:
        DataError: It failed, or its last line is something else; all it said was shown.
    """
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.stderr.write(done.stdout + done.stderr)
        raise DataError(
            f"`{' '.join(command)}` ended with exit code {done.returncode}; what it said is above."
            + (" It was killed: perhaps it asked for too much memory." * (done.returncode == -9))
        )
    try:
        return last_object(done.stdout)
    except DataError:
        sys.stderr.write(done.stdout + done.stderr)
        raise


def last_object(output: str) -> dict[str, Any]:
    """Returns the JSON object of the last line.

    Raises:
        DataError: There is none.
    """
    last = output.rstrip("\n").rpartition("\n")[2]
    try:
        value = json.loads(last)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise DataError(f"Expected a JSON object as the last line of a process, received {last!r}.")
    return value
