"""The views over HTTP: which runs there are, and the routes that answer for them.

What an answer says is built in `answers`.
"""
