"""How long cycles, operators, modules and kernels may take, by a TOML file.

`reading.load_budgets` reads one, `evaluating.evaluate` holds a comparison against it, and
`starting.starting_budgets` writes one to begin with.
"""
