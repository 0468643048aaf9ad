"""What can go wrong around the program, done to it on purpose: `make chaos`."""
