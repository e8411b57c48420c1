"""A comparison as a comment on a pull request, with or without a gate."""
