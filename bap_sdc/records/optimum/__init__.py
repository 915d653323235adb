"""The program of a table of records, solved part by part, with its proof."""
