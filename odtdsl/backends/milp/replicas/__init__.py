"""Formulations of studies, rebuilt to compare with: a file each, named as `--model` names it."""
