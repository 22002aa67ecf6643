"""The version of QuatRE-TF."""

__version__ = "0.1.0"
