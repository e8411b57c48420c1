"""Chrome JSON of every vendor: cut into pieces, decoded by several processes, repaired.

What other containers hold, and what the columns mean, stand elsewhere.
"""
