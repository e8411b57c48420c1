"""From recordings of many ranks to what they say together."""
