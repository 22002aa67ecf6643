"""From a name or a folder to triples, tables of known triples and batches.

Start with `datasets.catalog.load`, which returns a `quatre_tf.data.graph.Graph`. Nothing is
imported here, so that `--help` is fast; TensorFlow takes seconds to import.
"""

import signal
import sys


def let_interrupts_end_imports() -> None:
    """Makes Ctrl-C end `python -m PROGRAM` without a traceback until `run_program` takes over.

    Called by the packages of programs, which Python imports before the program itself.
    """
    is_default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if sys.argv[:1] == ["-m"] and is_default:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


let_interrupts_end_imports()
