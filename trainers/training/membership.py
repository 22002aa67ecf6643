"""How a process takes part in a run of many: who writes, who serves, and what a lost one means."""

import contextlib
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterator

import tensorflow as tf

from quatre_tf.errors import ClusterError
from trainers.training.cluster import Cluster

# What TensorFlow raises in the processes that are left when another one is gone.
_LOST = (
    tf.errors.UnavailableError,
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.DeadlineExceededError,
    tf.errors.InternalError,
    tf.errors.UnknownError,
)
# A worker that goes on needs these of a run: the settings, the graph, the state, the best weights.
_NOT_NEEDED = shutil.ignore_patterns(".lock", "tensorboard", "saved_model", "report")


@contextlib.contextmanager
def membership(cluster: Cluster, run_dir: pathlib.Path, resume: bool) -> Iterator[pathlib.Path]:
    """Gives the folder that this process writes its run to.

    The chief writes `run_dir`. The other workers do the same work and write the same to a temporary
    folder, as TensorFlow's guide has it: saving may be something that all replicas have to do.

    Raises:
        ClusterError: Another process of the cluster was lost.
    """
    try:
        if cluster.is_chief:
            yield run_dir
        else:
            with _following(cluster, run_dir, resume) as own:
                yield own
    except _LOST as error:
        if not cluster.addresses:
            raise
        raise ClusterError(
            f"A process of the cluster was lost, so this one stops ({type(error).__name__}). "
            f"Start all of them again with --run_dir={run_dir} --resume: they go on from the last "
            "checkpoint."
        ) from error


@contextlib.contextmanager
def _following(cluster: Cluster, run_dir: pathlib.Path, resume: bool) -> Iterator[pathlib.Path]:
    print(f"Worker {cluster.index}: worker 0 is the chief, which reports and writes {run_dir}.")
    with (
        tempfile.TemporaryDirectory(prefix="quatre-worker-") as folder,
        open(os.devnull, "w", encoding="utf-8") as nothing,
        contextlib.redirect_stdout(nothing),
    ):
        own = pathlib.Path(folder) / "run"
        if resume:
            shutil.copytree(run_dir, own, ignore=_NOT_NEEDED)
        yield own
