"""Converts input values to Arrow columns of exactly a table's types; errors give row and column."""
