"""Conditions the mechanism must satisfy.

What users write comes in (`Conditions`); one object per notion goes out, with its rows in the program, its check by
definition, its term in the bound and its place in a certificate. The protocol is `base.Condition`; the table of notions
is `conditions.TABLE`. A new notion of privacy is a new file here, its fields in `Conditions`, and a line in the table.
"""
