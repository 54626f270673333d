"""The workbench, `odt studio`: a page on this machine that writes, checks and solves specs."""
