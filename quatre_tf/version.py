"""The version of QuatRE-TF."""

__version__ = "0.2.0"
