"""Communication: which events are one collective call, and workers compared call by call."""
