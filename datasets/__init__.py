"""From a name or a folder to triples, tables of known triples and batches.

The room knows nothing of models and training. Start with `datasets.catalog.load`, which returns a
`datasets.graph.Graph`. Nothing is imported here: `--help` of a program must answer at once, and
TensorFlow takes seconds.
"""
