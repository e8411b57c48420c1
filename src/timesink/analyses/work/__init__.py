"""What calls of operators compute and move at least, by formulas over the shapes they were given.

How fast a device may be and which rule follows from it stand elsewhere.
"""
