"""Results as text, HTML and TensorBoard."""
