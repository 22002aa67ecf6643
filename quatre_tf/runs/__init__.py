"""Finished runs from Python: loading, asking, training, exporting."""
