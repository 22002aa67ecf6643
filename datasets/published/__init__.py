"""Published benchmarks: metadata, archives and builders."""
