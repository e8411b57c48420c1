"""The views of PyTorch's former TensorBoard profiler plugin, as JSON-ready values."""
