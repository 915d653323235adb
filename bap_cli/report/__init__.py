"""The page of `bap report`: its data, and the files that draw it."""
