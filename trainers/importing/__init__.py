"""Importing embeddings that were trained elsewhere."""
