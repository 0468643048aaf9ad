"""What the models are built of."""
