"""Documents, and the writers that say them.

Nothing here knows what is said: blocks have kinds and numbers, no meaning.
"""
