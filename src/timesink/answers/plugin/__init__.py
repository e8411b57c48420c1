"""The views of PyTorch's former TensorBoard profiler plugin, as JSON-ready values.

Routes and HTTP stand in `server`; nothing here computes what an analysis does not.
"""
