"""How programs are solved: by structure, by pricing, or as linear programs, exactly or to an exact pair in floats."""
