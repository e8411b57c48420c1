"""The views of PyTorch's former TensorBoard profiler plugin, as JSON-ready values.

Keys, column names, order and numbers are those its users know; ``docs/plugin.md`` lists every
deliberate difference.
"""
