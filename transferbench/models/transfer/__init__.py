"""Models that transfer labels from source domains to target domains."""
