"""Flags of programs that read a data set: its name and the data folders."""

from absl import flags

from datasets import catalog
from datasets.program import place_in_help
from datasets.published.benchmarks import DATASET_HELP


class DataFlags:
    """--dataset, --data_dir and --manual_dir.

    Args:
        default: The data set if none is given; None makes the flag required.
    """

    def __init__(self, default: str | None = None):
        self._dataset = flags.DEFINE_string(
            "dataset", default, DATASET_HELP, required=default is None
        )
        self._data_dir = flags.DEFINE_string(
            "data_dir",
            None,
            "Folder of downloaded benchmarks. Default: $TFDS_DATA_DIR or ~/tensorflow_datasets.",
        )
        self._manual_dir = flags.DEFINE_string(
            "manual_dir", None, "Folder with downloaded archives. Default: $QUATRE_MANUAL_DIR."
        )
        for flag in (self._dataset, self._data_dir, self._manual_dir):
            place_in_help(flag.name, "data", is_basic=flag is self._dataset)

    @property
    def dataset(self) -> str:
        """The value of --dataset."""
        return self._dataset.value or ""

    def checked_dataset(self) -> str:
        """Returns the value of --dataset; raises DataError if there is no such data set."""
        catalog.check(self.dataset)
        return self.dataset

    def given(self) -> dict[str, str | None]:
        """Returns the keyword arguments that `datasets.catalog.load` wants."""
        return {"data_dir": self._data_dir.value, "manual_dir": self._manual_dir.value}
