"""What pages show, as data: a document of sections, each a list of blocks."""
