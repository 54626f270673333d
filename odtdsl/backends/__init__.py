"""Back ends: what they share, and a folder for each."""
