"""From a name or a folder to triples, tables of known triples and batches.

Start with `datasets.catalog.load`, which returns a `quatre_tf.data.graph.Graph`. Nothing is
imported here: `--help` of a program must answer at once, and TensorFlow takes seconds.
"""
