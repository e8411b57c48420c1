"""Whether a comparison passes, in words: one screen of a log, a comment, a test report."""
