"""One builder per question: which analyses answer it, its values and its document.

Nothing is computed here that an analysis could, and nothing printed.
"""
