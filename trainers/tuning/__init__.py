"""The search for settings of `trainers.tune`."""
