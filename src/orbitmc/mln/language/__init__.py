"""The text of programs: statements, declarations, formulas, weights."""
