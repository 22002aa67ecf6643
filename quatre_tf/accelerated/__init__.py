"""Training operations compiled for CPUs, an optional plug-in."""
