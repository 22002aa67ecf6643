"""Published benchmarks: their facts, their archives, and the builders that prepare them."""
