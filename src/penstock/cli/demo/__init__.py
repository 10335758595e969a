"""A small shop, its random life, and a display to watch it: what ``penstock demo`` runs."""
