"""What is asked, answered: which analyses and rules answer a question, as plain data."""
