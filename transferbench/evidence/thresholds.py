"""Thresholds by which rows of an experiment are grouped; `choose` warns by the same ones."""

#: Agreement of the members of `consensus` below which its result is doubtful.
WEAK_AGREEMENT = 0.7
#: Width of the range of likely class shares (see `consensus.Agreed`) from which they are doubtful.
WIDE = 0.2
#: Number of documents in a domain from which regrets are evidence.
MIN_EVIDENCE = 500
#: In a table of regrets: the end of the name of a strategy that is judged only on rows where it is
#: advised, and the value of `documents` for all rows with MIN_EVIDENCE or more.
ADVISED, ANY = "if advised", "any"
