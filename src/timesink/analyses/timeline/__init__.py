"""A recording as a picture of any size: tracks, rows, and slices merged at growing resolutions."""
