"""Where recordings come from, and the cache they are opened through.

How their bytes are read stands in `formats`; nothing here asks what a recording says.
"""
