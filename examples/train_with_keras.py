"""Trains QuatRE on countries with Keras: compile, fit, callbacks, save.

Usage: python -m examples.train_with_keras

It prints the loss and the filtered validation MRR of every epoch, stops when the MRR no longer
improves, and saves the best model to --output.
"""

import os
import pathlib

from absl import flags

from datasets.program import import_tensorflow, run_program

_OUTPUT = flags.DEFINE_string("output", "runs/countries.keras", "File of the best model.")
_EPOCHS = flags.DEFINE_integer(
    "epochs", 20, "Maximum number of epochs, of 100 steps each.", lower_bound=1
)


def main() -> None:
    """Translates the flags; see `train`."""
    import_tensorflow()
    test = train(pathlib.Path(_OUTPUT.value), _EPOCHS.value)
    print(f"Test split: MRR {test['mrr']:.4f}, Hits@10 {test['hits@10']:.4f}")
    print(f"Model:      {_OUTPUT.value}")


def train(output: os.PathLike, epochs: int, steps_per_epoch: int = 100) -> dict[str, float]:
    """Trains, saves the best model and returns what it reaches on the test split."""
    import keras

    from datasets import catalog
    from quatre_tf import FilteredRanking, LogisticLoss, QuatRE, SparseAdagrad, labelled_triples
    from quatre_tf.data.batches import TripleBatches

    keras.utils.set_random_seed(1)
    graph = catalog.load("countries")
    batches = TripleBatches(graph, batch_size=200, num_negatives=5, seed=1).dataset()

    model = QuatRE(graph.num_entities, graph.num_relations, embedding_dim=32)
    model.compile(optimizer=SparseAdagrad(0.1, global_clipnorm=0.5), loss=LogisticLoss())
    pathlib.Path(output).parent.mkdir(parents=True, exist_ok=True)
    model.fit(
        batches.map(labelled_triples),
        steps_per_epoch=steps_per_epoch,
        epochs=epochs,
        shuffle=False,
        verbose=2,
        callbacks=[
            # First, because the others read the figures that it adds to the logs.
            FilteredRanking(graph.valid, known_triples=graph.known),
            keras.callbacks.EarlyStopping(monitor="val_mrr", mode="max", patience=3),
            keras.callbacks.ModelCheckpoint(
                output, monitor="val_mrr", mode="max", save_best_only=True
            ),
        ],
    )
    best = keras.models.load_model(output)
    return FilteredRanking(graph.test, known_triples=graph.known).figures(best)


if __name__ == "__main__":
    run_program(main)
