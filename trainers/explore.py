"""Shows runs on a local web page: completions, entities, neighbors, learning curves.

Usage: quatre explore --run_dir=runs/countries
       quatre explore --run_dir=runs/one,runs/two

The page opens only on this computer and needs no network. docs/exploring.md shows it.
"""

import webbrowser

from absl import flags

from datasets.program import import_tensorflow, run_program
from quatre_tf.paths import user_path

_RUN_DIR = flags.DEFINE_list(
    "run_dir", None, "Runs of `quatre fit`; several are compared.", required=True
)
_PORT = flags.DEFINE_integer(
    "port", 6007, "Port on 127.0.0.1; 0 for a free port.", lower_bound=0, upper_bound=65535
)
_OPEN = flags.DEFINE_bool("open", False, "Open the page in the browser.")
_INTERRUPTED = 130


def main() -> int:
    """Translates the flags; see `trainers.explorer`."""
    from trainers.explorer.server import address, listen, make

    # Before TensorFlow: a port in use is reported at once.
    with listen(_PORT.value) as listening:
        import_tensorflow()
        from trainers.explorer.api import Api
        from trainers.explorer.application import Application
        from trainers.reporting.runs import load_reported_run, name_runs

        paths = [user_path(path) for path in _RUN_DIR.value]
        runs = name_runs([load_reported_run(path) for path in paths])
        application = Application(*(Api(run, title) for title, run in runs.items()))
        shown = ", ".join(map(str, paths))
        verb = "are" if len(paths) > 1 else "is"
        print(f"{shown} {verb} at {address(listening)} until Ctrl-C.", flush=True)
        if _OPEN.value:
            webbrowser.open(address(listening))
        make(application, listening).serve_forever()
    return _INTERRUPTED


if __name__ == "__main__":
    run_program(main)
