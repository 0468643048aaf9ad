"""GermEval 2018: German tweets, offensive or not.

Wiegand, Siegel and Ruppenhofer (Overview of the GermEval 2018 Shared Task on the Identification of
Offensive Language, 2018) collected training and test tweets from the timelines of different users.
A task has one part as source and the other as target. The classes are other and offense, or, in
`germeval/fine-…`, other, abuse, insult and profanity. Tweets are in the order of the files; their
marks |LBR| of line breaks are no words.
"""

from itertools import permutations
from pathlib import Path

from transferbench.data.problems import problem_from_texts
from transferbench.data.text import Weighting
from transferbench.datasets._published import facts, originals
from transferbench.parameters import Count
from transferbench.problem import Problem, Truth

FILES = originals("germeval")
#: Prefix of a task → its classes.
CLASSES = {"": ("other", "offense"), "fine-": ("other", "abuse", "insult", "profanity")}
#: Task → prefix, source, target.
PARTS = {
    f"germeval/{prefix}{source}-vs-{target}": (prefix, source, target)
    for prefix in CLASSES
    for source, target in permutations(("training", "test"))
}
TASKS = {
    task: f"Offensive German tweets, {len(CLASSES[prefix])} classes, {source} to {target}: "
    "2 domains, the first labelled"
    for task, (prefix, source, target) in PARTS.items()
}
FACTS = facts(TASKS)


def build(
    task: str,
    files: dict[str, Path],
    *,
    token_pattern: str = r"[^\W_]{2,}",
    min_df: Count = 2,
    weighting: Weighting = "tf-idf",
    unit_length: bool = True,
) -> tuple[Problem, Truth]:
    """Build one task.

    token_pattern: tokens to count. min_df: drop terms in fewer tweets, counted over both domains.
    weighting, unit_length: see `text.weight`; fitted on both domains together.
    """
    prefix, *names = PARTS[task]
    parts = {}
    for domain, name in zip(("source", "target"), names, strict=True):
        content = files[f"germeval-2018/germeval2018.{name}.txt"].read_text(encoding="utf-8")
        rows = [line.split("\t") for line in content.strip().split("\n")]
        labels = [(fine if prefix else coarse).lower() for _, coarse, fine in rows]
        texts = [text.replace("|LBR|", " ") for text, _, _ in rows]
        parts[domain] = [
            (text, CLASSES[prefix].index(label)) for text, label in zip(texts, labels, strict=True)
        ]
    return problem_from_texts(
        task,
        CLASSES[prefix],
        parts,
        token_pattern=token_pattern,
        min_df=min_df,
        weighting=weighting,
        unit_length=unit_length,
    )
