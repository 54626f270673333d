"""Charts of curves and tunings as SVG."""
