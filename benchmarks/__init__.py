"""Programs that measure; `results/` holds what they measured."""
