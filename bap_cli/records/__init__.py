"""`bap microdata`."""
