"""Questions about an optimum: is it unique, and how far may an entry move before it changes."""
