"""`bap gaussian`."""
