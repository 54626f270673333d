"""From a problem to an audited answer: steps, stages, comparison, alternatives, formulas."""
