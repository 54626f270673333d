"""Trees and diagrams as values: they predict, and know no solver and no picture."""
