"""What a model is on rows whose truth is known, measure by measure, with bootstrap draws."""
