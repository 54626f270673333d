"""The terms: one file per word, with its signature and its translation to core forms."""
