"""The free program, one signal per decision of Bob: its structure, its components, its ties."""
