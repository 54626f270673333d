"""What a spec means: typed expressions, the terms, and the core forms that back ends read."""
