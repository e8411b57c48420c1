"""Writers: a document, made of blocks, as text, Markdown, a page or data."""
