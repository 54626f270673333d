"""What everything stands on: diagnostics, sources, files, limits, the engine's loader."""
