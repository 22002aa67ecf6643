"""Shared by all command-line programs: flags, help, quiet start, error messages.

Exit codes: 0 success; 1 an error that the user can fix, with a message (bugs print a traceback);
130 Ctrl-C; 141 closed output (`| head`), as after SIGPIPE.

--verbosity: -1 (default) shows progress and results; 0 and above also TensorFlow's log.
"""

import contextlib
import ctypes
import gc
import importlib.util
import os
import signal
import sys
import tempfile
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from absl import app, flags, logging

from datasets.progress import status
from datasets.standard_streams import OutputError, open_standard_streams
from quatre_tf.errors import ConfigError, DataError
from quatre_tf.paths import printable

_DEBUG = flags.DEFINE_bool("debug", False, "Show the traceback of an error.")
flags.DEFINE_bool("help_all", False, "Show all flags of the program.")
_OF_EVERY_PROGRAM = ("help_all", "debug", "verbosity")
# Of an error: a name in it may have any length.
_MAX_LINE = 2000
# Keras and TensorFlow import them, where they are installed, for integrations that no program uses.
# That takes 1.4 of the 3 seconds of CPU time of their import.
_UNUSED_BY_TENSORFLOW = ("IPython", "matplotlib", "pandas", "scipy", "sklearn")
# Arrow imports pandas to check whether its input is a DataFrame.
_UNUSED_BY_PROGRAMS = ("pandas",)
# Of mallopt in glibc's malloc.h, and what they are set to.
_MMAP_THRESHOLD, _TRIM_THRESHOLD = (-3, 512 << 20), (-1, 1024 << 20)
# By flag: its heading in the help, and whether it is on the first page.
_PLACES: dict[str, tuple[str, bool]] = {}


def place_in_help(name: str, heading: str, is_basic: bool = True) -> None:
    """Puts a flag below a heading of the help, in the order of the calls.

    The flags of a program that are not placed come first, without a heading.

    Args:
        name: The flag.
        heading: The heading.
        is_basic: Whether --help shows the flag; --help_all does in any case.
    """
    _PLACES[name] = (heading, is_basic)


def run_program(main: Callable[[], int | None], if_interrupted: str = "") -> None:
    """Parses the flags, calls `main` and exits.

    Modules of programs import nothing heavy, so that `--help` and flag errors answer at once;
    `main` calls `import_tensorflow` and imports the rest.

    Args:
        main: The program; returns its exit code, None for 0.
        if_interrupted: What to do after Ctrl-C, a sentence.
    """
    open_standard_streams()
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        try:
            app.run(lambda _: _run(main, if_interrupted), flags_parser=_parse_flags)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        sys.exit(128 + signal.SIGPIPE)
    except OutputError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(1)


def require_extra(what: str, extra: str, *packages: str) -> None:
    """Raises ConfigError, with the command that helps, unless an extra is installed."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise ConfigError(
            f"{what} needs the extra `{extra}`: pip install 'quatre-tf[{extra}]' "
            f"(missing: {', '.join(missing)})."
        )


def import_tensorflow() -> None:
    """Imports TensorFlow without the notes on the machine that its libraries print meanwhile.

    Call it where a program first needs TensorFlow: after all checks that can do without, because
    the import takes seconds. The user's settings of Keras change no figure. With
    TF_CPP_MIN_LOG_LEVEL in the environment, or a --verbosity from 0 on, its log is shown.

    Raises:
        DataError: The environment wants a Keras that does not run on TensorFlow, or keras.json
            holds settings that Keras refuses.
    """
    for name, right, *same in (
        ("KERAS_BACKEND", "tensorflow"),
        ("TF_USE_LEGACY_KERAS", "0", "false", "False"),
    ):
        # The environment comes before ~/.keras/keras.json, unless it is empty.
        value = os.environ[name] = os.environ.get(name) or right
        if value not in (right, *same):
            raise DataError(f"{name}={value}: expected {name}={right}, or none. Unset it.")
    is_log_wanted = logging.get_verbosity() >= logging.INFO and _is_verbosity_given()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "0" if is_log_wanted else "3")
    muted = contextlib.nullcontext() if is_log_wanted else _muted_stderr()
    _keep_freed_memory()
    # What is imported stays. Searching it for garbage takes a fifth of the time of the import, and
    # a second of CPU time when the process ends.
    gc.disable()
    try:
        with status("Loading TensorFlow"), muted, _hidden(_UNUSED_BY_TENSORFLOW):
            import keras
            import tensorflow  # noqa: F401
    except ValueError as error:
        raise DataError(f"Keras refuses its settings: {error}. Mend its keras.json.") from error
    finally:
        gc.freeze()
        gc.enable()
    keras.config.set_floatx("float32")


def _keep_freed_memory() -> None:
    """Lets the next step use the memory of the last one's scores, up to 512 MiB apiece.

    By default, glibc returns blocks of 32 MiB or more to the kernel, whose pages then have to be
    mapped and cleared again: a quarter of the time of a `strong` step on FB15k-237.
    """
    # Another C library may not have it.
    with contextlib.suppress(AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        for option in (_MMAP_THRESHOLD, _TRIM_THRESHOLD):
            mallopt(*option)


@contextlib.contextmanager
def _hidden(names: Sequence[str]) -> Iterator[None]:
    """Makes modules that are not imported yet look as if they were not installed."""

    def find_spec(name: str, *_: Any) -> None:
        if name in names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    finder: Any = types.SimpleNamespace(find_spec=find_spec)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def _is_verbosity_given() -> bool:
    # absl raises what is not given to INFO.
    return bool(flags.FLAGS["verbosity"].present)


@contextlib.contextmanager
def _muted_stderr() -> Iterator[None]:
    """Keeps what C++ code writes to stderr; shows it after all if there is an error."""
    sys.stderr.flush()
    shown = os.dup(2)
    with tempfile.TemporaryFile() as kept:
        os.dup2(kept.fileno(), 2)
        try:
            yield
        except Exception:
            kept.seek(0)
            os.write(shown, kept.read())
            raise
        finally:
            os.dup2(shown, 2)
            os.close(shown)


def _parse_flags(argv: Sequence[str]) -> list[str]:
    asked = {word.lstrip("-").partition("=")[0] for word in argv[1:] if word.startswith("-")}
    if asked & {"help", "helpshort", "?", "help_all"}:
        print(_help("help_all" in asked))
        sys.exit(0)
    try:
        rest = flags.FLAGS(list(argv))
    except flags.Error as error:
        sys.stderr.write(f"error: {error}\nThe flags are explained by --help and --help_all.\n")
        sys.exit(1)
    except SystemExit:
        # absl calls it an error to ask for help.
        sys.exit(0 if asked & {"helpfull", "helpxml"} else 1)
    if len(rest) > 1:
        sys.stderr.write(
            f"error: Unexpected argument {rest[1]!r}: flags are written --name=value.\n"
        )
        sys.exit(1)
    return rest


def places_of_flags(module: str) -> dict[flags.Flag, tuple[str, bool]]:
    """Returns the flags of a program, each with its heading and whether --help shows it.

    Args:
        module: The program's module; `sys.argv[0]` if it is `__main__`.
    """
    keys = [flag.name for flag in flags.FLAGS.get_key_flags_for_module(module)]
    places = {name: ("", True) for name in keys if name not in _PLACES} | _PLACES
    places |= dict.fromkeys(_OF_EVERY_PROGRAM, ("every program", False))
    return {flags.FLAGS[name]: place for name, place in places.items()}


def _help(is_complete: bool) -> str:
    """Returns the text of --help or, if complete, of --help_all."""
    places = places_of_flags(sys.argv[0])
    sections: dict[str, list[str]] = {}
    for flag, (heading, is_basic) in places.items():
        if is_basic or is_complete:
            title = [f"{heading}:"] if heading else []
            sections.setdefault(heading, title).append(_help_of(flag))
    texts = [sys.modules["__main__"].__doc__ or "", *map("\n".join, sections.values())]
    if not is_complete:
        texts.append(f"All {len(places)} flags: --help_all")
    return "\n\n".join(text.strip("\n") for text in texts if text)


def _help_of(flag: flags.Flag) -> str:
    name = f"[no]{flag.name}" if flag.boolean else flag.name
    default = f" (default: {flag.default_as_str})" if flag.default else ""
    text = f"--{name}: {flag.help}{default}"
    return flags.text_wrap(text, indent=" " * 6, firstline_indent="  ")


def _run(main: Callable[[], int | None], if_interrupted: str) -> int:
    if not _is_verbosity_given():
        logging.set_verbosity(logging.WARNING)
    try:
        with _hidden(_UNUSED_BY_PROGRAMS):
            return main() or 0
    except DataError as error:
        if _DEBUG.value:
            raise
        lines = (printable(line, _MAX_LINE) for line in str(error).split("\n"))
        sys.stderr.write("error: " + "\n".join(lines) + "\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write(f"Interrupted. {if_interrupted}".rstrip() + "\n")
        return 130
