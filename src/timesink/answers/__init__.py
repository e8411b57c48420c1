"""Answers: one builder of a document per question."""
