"""The local page of `quatre explore`."""
