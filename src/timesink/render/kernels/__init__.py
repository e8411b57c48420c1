"""How well kernels use the hardware, as text, Markdown, a page and pictures."""
