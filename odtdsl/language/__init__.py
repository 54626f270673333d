"""The language as text: grammar, parser, syntax tree, formatter, messages on broken text."""
