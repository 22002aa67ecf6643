"""Comparing models: the plan, its runs, and the tables that are printed."""
