"""Keras layers: embedding tables and score functions, one a file."""
