"""The search for settings of `quatre tune`."""
