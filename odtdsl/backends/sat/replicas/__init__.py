"""Encodings of studies, rebuilt to compare with: a file each, named as `--encoding` names it."""
