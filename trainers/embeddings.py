"""Writes the entity embeddings of a run to a file, with names, labels and degrees.

Usage: quatre embeddings --run_dir=runs/countries --output=countries.parquet

The file extension selects the format: .parquet (columns name, label, degree, embedding),
.npz (arrays names, labels, degrees, embeddings) or .tsv (the columns of .parquet; an embedding is
written [0.1,0.2], as pgvector reads it). Embeddings are float32, one row for each entity.
"""

import csv
import pathlib
from typing import IO, Any

import numpy as np
from absl import flags

from datasets.program import import_tensorflow, run_program
from quatre_tf.atomic_files import output_file
from quatre_tf.errors import ConfigError

_RUN_DIR = flags.DEFINE_string("run_dir", None, "A run of `quatre fit`.", required=True)
_OUTPUT = flags.DEFINE_string(
    "output", None, "The file to write: .parquet, .npz or .tsv.", required=True
)


def main() -> None:
    """Translates the flags."""
    suffix = pathlib.Path(_OUTPUT.value).suffix
    if suffix not in WRITERS:
        raise ConfigError(
            f"--output must end in {', '.join(WRITERS)}. Received: {_OUTPUT.value!r}."
        )
    import_tensorflow()
    from quatre_tf.runs.run import load_run

    run = load_run(_RUN_DIR.value)
    names, embeddings = run.graph.entities.names, run.embeddings()
    columns = {
        "name": names,
        "label": np.array([run.graph.labels.get(name, "") for name in names], object),
        "degree": degrees(run.graph.known, len(names)),
    }
    with output_file(_OUTPUT.value, binary=suffix != ".tsv") as file:
        WRITERS[suffix](file, columns, embeddings)
    print(f"Wrote {len(embeddings):,} embeddings of {embeddings.shape[1]} floats: {_OUTPUT.value}")


def degrees(triples: np.ndarray, num_entities: int) -> np.ndarray:
    """Returns the triples that each entity is in, `[num_entities]` int64; a loop counts once."""
    heads, _, tails = triples.T
    ends = np.concatenate([heads, tails[tails != heads]])
    return np.bincount(ends, minlength=num_entities)


def _write_parquet(file: IO[Any], columns: dict[str, np.ndarray], rows: np.ndarray) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    vectors = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1])
    pq.write_table(pa.table({**columns, "embedding": vectors}), file)


def _write_npz(file: IO[Any], columns: dict[str, np.ndarray], rows: np.ndarray) -> None:
    # Strings of one width: arrays of objects would be pickled.
    names, labels = (columns[name].astype(np.str_) for name in ("name", "label"))
    np.savez(file, names=names, labels=labels, degrees=columns["degree"], embeddings=rows)


def _write_tsv(file: IO[Any], columns: dict[str, np.ndarray], rows: np.ndarray) -> None:
    writer = csv.writer(file, delimiter="\t", lineterminator="\n")
    writer.writerow([*columns, "embedding"])
    for *facts, row in zip(*columns.values(), rows, strict=True):
        # Nine digits tell every float32 from its neighbors.
        writer.writerow([*facts, f"[{','.join(f'{value:.9g}' for value in row.tolist())}]"])


# By the end of the file's name.
WRITERS = {".parquet": _write_parquet, ".npz": _write_npz, ".tsv": _write_tsv}


if __name__ == "__main__":
    run_program(main)
