"""A training run: settings, recipes, loops, checkpoints and the run directory."""
