"""`headwater demo`: the whole platform with a lab on it, watched, broken and verified."""
