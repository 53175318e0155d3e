"""Mutation testing: whether some test fails if one operator, value or branch of a source is changed."""
