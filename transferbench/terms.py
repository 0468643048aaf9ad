"""Terms of data: a word for each thing that a licence limits, demands or leaves open."""

from collections.abc import Iterable

from transferbench.errors import unknown

#: What each term says of the data.
TERMS = {
    "agreement": "given to people who accept an agreement",
    "attribution": "the authors or the licence ask for a mention",
    "no-redistribution": "must not be passed on",
    "non-commercial": "no commercial use",
    "research-only": "given away for research",
    "share-alike": "what is made of them needs the same licence",
    "third-party-copyright": "the documents belong to others than who gives them away",
    "unknown": "no licence is stated for all or some of the files",
}


def check(names: Iterable[str], where: str) -> None:
    """Raise UserError for a name that is not a term."""
    for name in names:
        if name not in TERMS:
            raise unknown(f"term of {where}:", name, TERMS)
