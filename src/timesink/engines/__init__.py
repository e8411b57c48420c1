"""Where many independent calls run: processes of this machine, or a Ray cluster."""
