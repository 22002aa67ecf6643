"""The graph, its known triples, negatives and batches."""
