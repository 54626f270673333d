"""Terms: the words of conditions and measures, one file each; `registry` lists them."""
