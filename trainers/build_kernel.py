"""Compiles operations of the training step for CPUs; later runs use them automatically.

Usage: quatre build-kernel

Needs a C++ compiler (g++ or clang++; the environment variable CXX selects another) and takes a
minute. Run it again after an update of this project or of TensorFlow. Runs with Adagrad then print
"(compiled)". Results are equal up to rounding.
"""

from datasets.program import import_tensorflow, run_program
from datasets.progress import status


def main() -> None:
    """See `quatre_tf.accelerated.kernel`."""
    import_tensorflow()
    from quatre_tf.accelerated import kernel

    with status("Compiling"):
        path = kernel.build()
    print(f"Compiled: {path}")


if __name__ == "__main__":
    run_program(main)
