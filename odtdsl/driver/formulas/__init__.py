"""Problems as files for other solvers, and their answers read back."""
