"""The ranks of a split, and what is told of them: `trainers.evaluate` and every validation."""
