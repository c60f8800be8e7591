"""Answers for people and for programs: tables, JSON, sentences."""
