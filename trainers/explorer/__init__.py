"""The local page of `trainers.explore`."""
