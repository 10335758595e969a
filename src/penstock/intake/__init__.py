"""Values from outside, as Arrow columns of exactly a table's types, or refused with their place."""
