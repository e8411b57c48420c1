"""Names of kernels: shortened, told apart, and compared across profilers."""
