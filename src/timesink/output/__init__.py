"""Documents, and the writers that say them."""
