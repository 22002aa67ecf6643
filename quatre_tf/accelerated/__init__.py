"""The compiled step of the `paper` recipe, an optional plug-in."""
