"""What every package of the project may use: rational numbers, limits, labels, display, documents and their writing."""
