"""Tables of records: the study, its optimum, the release, the audit, and the folder that keeps them."""
