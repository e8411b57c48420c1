"""Which analyses answer a question, as plain data that any renderer can show."""
