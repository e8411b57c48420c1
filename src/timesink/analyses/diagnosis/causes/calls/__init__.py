"""What functions of both sides took and how often they ran."""
