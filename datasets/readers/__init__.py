"""Readers of custom data sets: finding files, delimited text, RDF."""
