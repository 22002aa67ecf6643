"""TensorBoard summaries and metrics.jsonl of a run."""
