"""Documents of one's own: read from files within limits, and what was predicted for them."""
