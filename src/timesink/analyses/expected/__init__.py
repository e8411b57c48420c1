"""How long a cycle should take for its workload, and which cycles take longer."""
