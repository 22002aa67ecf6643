"""Questions and answers of `quatre predict`."""
