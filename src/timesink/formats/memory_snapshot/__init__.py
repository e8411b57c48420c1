"""Snapshots of PyTorch's memory allocator, as `torch.cuda.memory._dump_snapshot` writes them.

`collection` takes events, segments and blocks out of the pickle while it is read, `tables` makes
tables of them, `reader` is the format.  Nothing here judges what memory is for.
"""
