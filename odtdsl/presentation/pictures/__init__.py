"""Models as text, SVG, DOT, and drawn by matplotlib."""
