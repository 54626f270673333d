"""The formats: a file here is a format of its name, and `registry` finds it."""
