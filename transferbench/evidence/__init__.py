"""Tables, figures, judged claims and the report, made from each runs.csv alone."""
