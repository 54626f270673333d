"""What terms have in common, and what specs become by them; the terms are in `library`."""
