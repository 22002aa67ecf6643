"""Compiled operations: built once by a C++ compiler, then loaded if found.

`sampled_logistic.cc` is the step of the paper's objective, `adagrad.cc` the update of tables.
Without them TensorFlow's operations are used, which give the same results up to rounding and are
slower (docs/recipes.md). They are not built when the package is installed, because every user would
then need a compiler.
"""

import contextlib
import functools
import hashlib
import os
import pathlib
import platform
import secrets
import shlex
import shutil
import subprocess
import sys
from typing import Any

import tensorflow as tf

from quatre_tf.errors import ConfigError

_SOURCES = sorted(pathlib.Path(__file__).parent.glob("*.cc"))
_HEADERS = sorted(pathlib.Path(__file__).parent.glob("*.h"))
# Sums of products in any order, where the source asks for it, and roots without errno; nothing else
# of -ffast-math, which would hide a NaN.
_FLAGS = ("-shared", "-fPIC", "-O3", "-fopenmp-simd", "-fno-math-errno")
_COMPILERS = ("g++", "clang++", "c++")
_SWITCH = "QUATRE_ENABLE_KERNEL"
_LINES_SHOWN = 20

# The library of this process, by where it comes from: none or one.
_loaded: dict[pathlib.Path, Any] = {}


class KernelError(ConfigError):
    """The kernel cannot be compiled or loaded; the message says why and what to do."""


def library_path() -> pathlib.Path:
    """Returns where the compiled library is, or would be.

    In the user's cache folder: `$XDG_CACHE_HOME/quatre_tf`, or `~/.cache/quatre_tf`. The name
    holds what it was made of and for, so that one of another source, TensorFlow or C library is
    never taken.
    """
    folder = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    digest = _digest((*_SOURCES, *_HEADERS), (tf.__version__, tf.version.GIT_VERSION))
    return pathlib.Path(folder) / "quatre_tf" / f"operations-{digest[:16]}.so"


# Once: eager updates ask for the operations every time.
@functools.cache
def _digest(files: tuple[pathlib.Path, ...], versions: tuple[str, ...]) -> str:
    texts = [path.read_text("utf-8") for path in files]
    made_of = (texts, _FLAGS, versions, platform.machine(), platform.libc_ver())
    return hashlib.sha256(repr(made_of).encode()).hexdigest()


def build() -> pathlib.Path:
    """Compiles the library, in place of one that is there, and returns its path.

    It takes a minute: TensorFlow's headers are long. What does not work replaces nothing.

    Raises:
        KernelError: There is no compiler, it failed, what it made cannot be loaded, or the folder
            cannot be written to or, without a home, is not known.
    """
    command, path = compiler(), library_path()
    if not path.is_absolute():
        raise KernelError(
            f"The library wants a folder with an absolute path. Received: {path.parent}. Give one "
            "in the environment variable XDG_CACHE_HOME."
        )
    # A name of its own: two that build do not write into each other's.
    partial = path.with_name(f".{path.stem}.{secrets.token_hex(4)}.partial.so")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _compile(command, partial)
        _try_to_load(partial)
        os.replace(partial, path)
    except OSError as error:
        raise KernelError(
            f"Cannot write {path}: {error.strerror or error}. Give another folder in the "
            "environment variable XDG_CACHE_HOME."
        ) from error
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()
    return path


def operations() -> Any | None:
    """Returns the module of the operations, or None where they are not used.

    They are used where they were built, but not on GPUs, and not with parameter servers: the
    process that would run them may not have them. `QUATRE_ENABLE_KERNEL=0` in the environment
    switches them off.

    Raises:
        KernelError: There is a library that TensorFlow cannot load, or the variable is neither 0
            nor 1.
    """
    wanted = os.environ.get(_SWITCH) or "1"
    if wanted not in ("0", "1"):
        raise KernelError(f"{_SWITCH} in the environment must be 0 or 1. Received: {wanted!r}.")
    servers = isinstance(tf.distribute.get_strategy(), tf.distribute.ParameterServerStrategy)
    if wanted == "0" or servers or tf.config.list_logical_devices("GPU"):
        return None
    path = library_path()
    # False, too, where the folder may not be looked into.
    return _load(path) if os.path.isfile(path) else None


def _load(path: pathlib.Path) -> Any:
    if path not in _loaded:
        if _loaded:
            # TensorFlow would have the operations twice, and refuse both.
            raise KernelError(
                f"Cannot load {path}: this process has loaded {next(iter(_loaded))} before. Start "
                "Python anew."
            )
        try:
            _loaded[path] = tf.load_op_library(str(path))
        except tf.errors.OpError as error:
            raise KernelError(
                f"Cannot load {path}: {error.message} Build it again with "
                f"`quatre build-kernel`, or set {_SWITCH}=0."
            ) from error
    return _loaded[path]


def compiler() -> list[str]:
    """Returns the command that compiles: CXX of the environment, or g++, clang++ or c++.

    Raises:
        KernelError: There is none of them.
    """
    try:
        given = shlex.split(os.environ.get("CXX", ""))
    except ValueError as error:
        raise KernelError(
            f"The environment variable CXX is no command: {os.environ['CXX']!r} ({error})."
        ) from error
    for command in [given] if given else [[name] for name in _COMPILERS]:
        if shutil.which(command[0]):
            return command
    raise KernelError(
        f"There is no C++ compiler: looked for {' '.join(given[:1]) or ', '.join(_COMPILERS)}. "
        "Install one, for example `apt install g++`, or name it in the environment variable CXX. "
        "Without it training uses TensorFlow's operations: the same, slower."
    )


def _compile(command: list[str], path: pathlib.Path) -> None:
    headers, options = [], []
    for flag in tf.sysconfig.get_compile_flags():
        # As system headers, so that warnings are about our source.
        if flag.startswith("-I"):
            headers += ["-isystem", flag[2:]]
        else:
            options.append(flag)
    link = tf.sysconfig.get_link_flags()
    _run(
        [*command, *_FLAGS, *options, *headers, *map(str, _SOURCES), "-o", str(path), *link],
        "TensorFlow wants GCC 9 or Clang 14 at least. Another compiler is given in the environment "
        "variable CXX.",
    )


def _try_to_load(path: pathlib.Path) -> None:
    """In another process, because a library cannot be taken out of one again."""
    program = "import sys, tensorflow; tensorflow.load_op_library(sys.argv[1])"
    _run(
        [sys.executable, "-c", program, str(path)],
        "What the compiler made cannot be loaded. Another compiler is given in the environment "
        "variable CXX.",
    )


def _run(command: list[str], remedy: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise KernelError(f"Cannot run `{command[0]}`: {error.strerror}. {remedy}") from error
    if done.returncode:
        said = "\n".join(done.stderr.strip().splitlines()[-_LINES_SHOWN:])
        raise KernelError(f"`{command[0]}` ended with {done.returncode}:\n{said}\n{remedy}")
