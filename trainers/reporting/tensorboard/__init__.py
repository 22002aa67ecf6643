"""What a run writes for TensorBoard, and its metrics.jsonl."""
