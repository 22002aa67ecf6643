"""The questions and answers of `quatre predict`."""
