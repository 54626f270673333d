"""Trees by mixed-integer programming: lowering, solving, decoding, LP and MPS files."""
