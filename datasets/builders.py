"""TensorFlow Datasets builders of the benchmarks.

An example is a triple of names: {"head", "relation", "tail"}, in the order of the published file.
Importing this module registers the builders, so `tfds.load("umls")` works afterwards.
"""

import abc
import pathlib
from collections.abc import Iterator
from typing import ClassVar

import tensorflow_datasets as tfds

from datasets import archives, benchmarks
from datasets.triples import COLUMNS, parse_triples


class BenchmarkBuilder(tfds.core.GeneratorBasedBuilder):
    """What the benchmarks share; each tells its facts by the class attribute `benchmark`."""

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES: ClassVar[dict[str, str]] = {"1.0.0": "The splits as published."}
    MANUAL_DOWNLOAD_INSTRUCTIONS = "The published archive, if it is here already."

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
            license=self.benchmark.licence,
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


class Wn18rr(BenchmarkBuilder):
    """Builder of WN18RR."""

    benchmark = benchmarks.WN18RR


class Fb15k237(BenchmarkBuilder):
    """Builder of FB15k-237."""

    benchmark = benchmarks.FB15K_237


class Wn18(BenchmarkBuilder):
    """Builder of WN18."""

    benchmark = benchmarks.WN18


class Fb15k(BenchmarkBuilder):
    """Builder of FB15k."""

    benchmark = benchmarks.FB15K


class Umls(BenchmarkBuilder):
    """Builder of umls."""

    benchmark = benchmarks.UMLS


class Kinship(BenchmarkBuilder):
    """Builder of kinship."""

    benchmark = benchmarks.KINSHIP


class Nations(BenchmarkBuilder):
    """Builder of nations."""

    benchmark = benchmarks.NATIONS


BUILDERS: dict[str, type[BenchmarkBuilder]] = {
    builder.name: builder for builder in (Wn18rr, Fb15k237, Wn18, Fb15k, Umls, Kinship, Nations)
}
