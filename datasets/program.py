"""What every command-line program of the checkout shares: flags, quiet start, error lines.

Exit codes: 0 done, 1 a mistake that the message says how to mend (also absl's for bad flags),
130 interrupted by Ctrl-C; anything else is a defect of ours and comes with a traceback.
"""

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence

from absl import app, flags, logging

from datasets.errors import DataError

_DEBUG = flags.DEFINE_bool("debug", False, "Show the traceback of an error.")


def run_program(main: Callable[[Sequence[str]], int | None]) -> None:
    """Parses the flags, calls `main(argv)` and exits.

    Modules of programs import nothing heavy, so that `--help` and flag errors answer at once;
    `main` calls `import_tensorflow` and imports the rest. TensorFlow's log is silenced unless
    TF_CPP_MIN_LOG_LEVEL is set.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    app.run(lambda argv: _run(main, argv), flags_parser=_parse_flags)


def import_tensorflow() -> None:
    """Imports TensorFlow without the notes on the machine that its libraries print meanwhile.

    Call it where a program first needs TensorFlow: after all checks that can do without, because
    the import takes seconds.
    """
    with _muted_stderr():
        import tensorflow  # noqa: F401


@contextlib.contextmanager
def _muted_stderr() -> Iterator[None]:
    """Keeps what C++ code writes to stderr; shows it after all if there is an exception."""
    sys.stderr.flush()
    shown = os.dup(2)
    with tempfile.TemporaryFile() as kept:
        os.dup2(kept.fileno(), 2)
        try:
            yield
        except BaseException:
            kept.seek(0)
            os.write(shown, kept.read())
            raise
        finally:
            os.dup2(shown, 2)
            os.close(shown)


def _parse_flags(argv: Sequence[str]) -> list[str]:
    rest = app.parse_flags_with_usage(list(argv))
    if len(rest) > 1:
        sys.stderr.write(
            f"error: Unexpected argument {rest[1]!r}: flags are written --name=value.\n"
        )
        sys.exit(1)
    return rest


def _run(main: Callable[[Sequence[str]], int | None], argv: Sequence[str]) -> int:
    logging.set_verbosity(logging.WARNING)
    try:
        return main(argv) or 0
    except DataError as error:
        if _DEBUG.value:
            raise
        sys.stderr.write(f"error: {error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted.\n")
        return 130
