"""Runs made of embeddings that were trained elsewhere."""
