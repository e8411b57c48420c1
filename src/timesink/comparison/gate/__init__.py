"""What a change is held against: baselines in a store, budgets, histories.

Words of a verdict and its files are in `answers/comparison`.
"""
