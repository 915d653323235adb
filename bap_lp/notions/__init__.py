"""Conditions the mechanism must satisfy, a file each.

What users write comes in (`Conditions`); one object per notion goes out, with its check by definition and its rows in
the program (`base.Notion`). A new notion of privacy is a new file here, its fields in `Conditions`, and a line in
`table`.
"""
