"""From a file to a study: tables, levels of columns, losses, the prior, and the first proposal."""
