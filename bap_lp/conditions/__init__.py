"""Conditions the mechanism must satisfy, a file each.

What users write comes in (`given.Conditions`); one object per condition goes out, with its check by definition and its
rows in the program (`base.Condition`). A new kind of privacy is a new file here and a line in `table`.
"""
