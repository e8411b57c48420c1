"""What the model of a trace is made of."""
