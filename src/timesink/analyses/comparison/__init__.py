"""Two runs beside each other: time and load of every function, cycle by cycle."""
