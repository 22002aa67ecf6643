"""Triple classification: which of given triples are true."""
