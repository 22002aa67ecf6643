"""TensorFlow Datasets builders of the benchmarks, and loading what they have prepared.

An example is a triple of names: {"head", "relation", "tail"}, in the order of the published file.
Importing this module registers the builders, so `tfds.load("umls")` works afterwards.
"""

import abc
import contextlib
import io
import os
import pathlib
import re
import sys
import tempfile
from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import tensorflow as tf
import tensorflow_datasets as tfds
from absl import logging

from datasets.published import archives, benchmarks
from datasets.published.benchmarks import Benchmark
from datasets.triples import COLUMNS, parse_triples
from quatre_tf.data.encoding import NEGATIVES
from quatre_tf.data.graph import Graph
from quatre_tf.data.labels import read_labels
from quatre_tf.errors import DataError
from quatre_tf.paths import user_path

_PARSED_AT_ONCE = 16_384


class BenchmarkBuilder(tfds.core.GeneratorBasedBuilder):
    """What the builders share; each has the facts of its benchmark as a class attribute."""

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES: ClassVar[dict[str, str]] = {"1.0.0": "The splits as published."}
    MANUAL_DOWNLOAD_INSTRUCTIONS = "The published archive, if it was downloaded already."

    @property
    @abc.abstractmethod
    def benchmark(self) -> benchmarks.Benchmark:
        """The facts."""

    def _info(self) -> tfds.core.DatasetInfo:
        return tfds.core.DatasetInfo(
            builder=self,
            description=self.benchmark.description,
            features=tfds.features.FeaturesDict({name: tfds.features.Text() for name in COLUMNS}),
            homepage=self.benchmark.homepage,
            license=self.benchmark.license,
            citation=self.benchmark.citation,
            disable_shuffling=True,
        )

    def _split_generators(self, dl_manager: tfds.download.DownloadManager) -> dict[str, Iterator]:
        # Not dl_manager.download: without network it tries for 204 s, and it knows an archive by
        # its own checksum only.
        splits = archives.read_splits(self.benchmark, _manual_dir(dl_manager))
        return {name: self._generate_examples(text, name) for name, text in splits.items()}

    def _generate_examples(self, text: bytes, split: str) -> Iterator[tuple[int, dict[str, str]]]:
        table = parse_triples(text, f"{self.benchmark.name}/{split}")
        columns = [column.to_pylist() for column in table.columns]
        for row, names in enumerate(zip(*columns, strict=True)):
            yield row, dict(zip(COLUMNS, names, strict=True))


def _manual_dir(dl_manager: tfds.download.DownloadManager) -> pathlib.Path | None:
    try:
        return pathlib.Path(dl_manager.manual_dir)
    except AssertionError:  # It is missing or empty.
        return None


def _builder(benchmark: Benchmark) -> type[BenchmarkBuilder]:
    """Returns the builder class of a benchmark, which TFDS registers as, for example, codex_s."""
    attributes = {"benchmark": benchmark, "__module__": __name__}
    return type(benchmark.name.capitalize().replace("-", "_"), (BenchmarkBuilder,), attributes)


BUILDERS = {name: _builder(benchmark) for name, benchmark in benchmarks.BENCHMARKS.items()}


def load(
    benchmark: Benchmark,
    *,
    data_dir: str | os.PathLike | None = None,
    manual_dir: str | os.PathLike | None = None,
) -> Graph:
    """Loads a benchmark, which is prepared the first time; see `datasets.catalog.load`.

    Raises:
        DataError: It is not available, is not what was published, or cannot be written or read.
    """
    data_folder = user_path(data_dir) if data_dir else None
    builder = BUILDERS[benchmark.name](data_dir=data_folder)
    manual_folder = _manual_folder(manual_dir)
    if not _is_prepared(builder):
        _prepare(builder, manual_folder)
    splits = {split: _read_split(builder, split) for split in benchmark.splits}
    negatives = {split: splits[name] for split, name in NEGATIVES.items() if name in splits}
    labels = manual_folder / benchmark.labels_name if manual_folder else None
    named = read_labels(labels) if labels and labels.is_file() else None
    return Graph.from_names(benchmark.name, splits, named, negatives)


def _manual_folder(manual_dir: str | os.PathLike | None) -> pathlib.Path | None:
    """Returns the folder of local archives, if one was given."""
    named = manual_dir or os.environ.get("QUATRE_MANUAL_DIR")
    return user_path(named) if named else None


def _is_prepared(builder: BenchmarkBuilder) -> bool:
    return (pathlib.Path(builder.data_dir) / "dataset_info.json").is_file()


def _prepare(builder: BenchmarkBuilder, manual_folder: pathlib.Path | None) -> None:
    """Writes the records of a benchmark, all or none."""
    if manual_folder and not manual_folder.is_dir():
        raise DataError(
            f"There is no folder {manual_folder}. Expected by --manual_dir or QUATRE_MANUAL_DIR:"
            " the folder of the archives at hand."
        )
    source = archives.find_archive(builder.benchmark, manual_folder) or builder.benchmark.url
    print(f"Preparing {builder.name} from {source}", file=sys.stderr)
    try:
        # TFDS requires a folder for downloads.
        with tempfile.TemporaryDirectory() as downloads, _quiet():
            config = tfds.download.DownloadConfig(manual_dir=manual_folder, try_download_gcs=False)
            builder.download_and_prepare(download_dir=downloads, download_config=config)
    except (OSError, tf.errors.OpError) as error:
        # Another run may have prepared the same benchmark in the meantime.
        if not _is_prepared(builder):
            raise DataError(
                f"Cannot write the prepared {builder.name} to {builder.data_dir}: {_plain(error)}."
                " Name another folder with --data_dir=FOLDER or TFDS_DATA_DIR=FOLDER."
            ) from error


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Hides the progress bars, notes and warnings of TFDS."""
    tfds.disable_progress_bar()
    verbosity = logging.get_verbosity()
    logging.set_verbosity(logging.ERROR)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        logging.set_verbosity(verbosity)


def _read_split(builder: BenchmarkBuilder, split: str) -> list[np.ndarray]:
    """Returns the columns head, relation, tail of a split: [num_triples] of UTF-8 bytes.

    Records are parsed many at a time: `builder.as_dataset` parses them one by one, which takes ten
    times as long.
    """
    spec = builder.info.features.tf_example_spec
    try:
        files = builder.info.splits[split].filepaths
        records = tf.data.TFRecordDataset([os.fspath(file) for file in files])
        batches = records.batch(_PARSED_AT_ONCE).map(lambda batch: tf.io.parse_example(batch, spec))
        parsed = [[batch[name].numpy() for name in COLUMNS] for batch in batches]
    except (KeyError, ValueError, tf.errors.OpError) as error:
        raise _damaged(builder, f"{split}: {_plain(error)}") from error
    expected = builder.benchmark.splits[split].num_triples
    received = sum(len(heads) for heads, _, _ in parsed)
    if received != expected:
        raise _damaged(builder, f"{split}: expected {expected} triples, received {received}")
    return [np.concatenate(column) for column in zip(*parsed, strict=True)]


def _plain(error: Exception) -> str:
    """Returns the message without the names of nodes and ops that TensorFlow puts around it."""
    return re.sub(r"\{\{.*?\}\}\s*|\s*\[Op:.*$", "", str(error))


def _damaged(builder: BenchmarkBuilder, problem: str) -> DataError:
    return DataError(
        f"The prepared {builder.name} in {builder.data_dir} is damaged ({problem}). Remove that"
        " folder; it is prepared again."
    )
