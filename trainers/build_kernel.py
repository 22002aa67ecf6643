"""Compiles the training step of --recipe=paper, which trainings then find by themselves.

Usage: quatre build-kernel

Wants a C++ compiler (g++ or clang++; the environment variable CXX names another) and half a minute.
To be run again after an update of this project or of TensorFlow; a training says "(compiled)" where
it found it. Without it the step is the same to rounding, and slower.
"""

from datasets.program import import_tensorflow, run_program
from datasets.progress import status
from quatre_tf.errors import ConfigError


def main() -> None:
    """See `quatre_tf.accelerated.kernel`."""
    import_tensorflow()
    from quatre_tf.accelerated import kernel

    try:
        with status("Compiling"):
            path = kernel.build()
    except kernel.KernelError as error:
        raise ConfigError(str(error)) from error
    print(f"Compiled: {path}")


if __name__ == "__main__":
    run_program(main)
