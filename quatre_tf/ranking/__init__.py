"""Filtered ranking: tiles of scores, ranks and ties, evaluation and statistics."""
