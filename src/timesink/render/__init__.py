"""Reports as text, JSON or HTML."""
