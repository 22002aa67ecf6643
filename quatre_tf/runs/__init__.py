"""Runs from Python: training, loading, querying, exporting."""
