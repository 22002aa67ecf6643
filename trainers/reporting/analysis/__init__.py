"""The report of a run: pictures, tables and one page. Needs the extra `analysis`."""
