"""Tables, figures, judged claims and the report, made of the runs alone."""
