"""The command `bap`: problem files in; tables, proofs and releases out."""
