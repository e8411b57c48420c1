"""Recording workloads with and without faults, in an order that drift does not spoil."""
