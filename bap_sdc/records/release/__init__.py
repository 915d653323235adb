"""What is published: channels on records, their risks, the draw, and what an analyst learns from it."""
