"""Programs: fit, evaluate, predict, and what they share."""
