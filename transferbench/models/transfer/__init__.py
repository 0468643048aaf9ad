"""Models that carry labels from source domains to targets."""
