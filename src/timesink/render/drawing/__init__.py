"""Pictures as a few shapes, written as SVG or PNG: no plotting library, no network."""
