"""One command line over all of Headwater."""
