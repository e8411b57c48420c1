"""Modules of the network, forward and backward."""
