"""The one program behind every question: signals, observers and rows; its bound; how problems are lowered to it."""
