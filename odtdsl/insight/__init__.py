"""Questions about a problem or an answer that take solves or proofs of their own."""
