"""One builder per question: which analyses answer it, its values and its document."""
