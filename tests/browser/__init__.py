"""Pages in a real browser, which starts once for all of them."""
