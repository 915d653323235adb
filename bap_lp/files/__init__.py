"""Files: TOML or JSON text comes in; problems, mechanisms and certificates go out, and back."""
