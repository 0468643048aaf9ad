"""Find the likely encoding of a text file that is not UTF-8.

Every byte is a letter in some encoding. So a file that can be decoded may still be read wrongly. An
encoding is likely if the characters are usual in its languages, and if they stand where they
should. Accented letters stand between those of ASCII. Letters of other scripts stand in rows.
"""

from __future__ import annotations

import codecs
import locale
import re
from typing import NamedTuple

#: Bytes, from the first line that is not ASCII on, that the encoding is found by.
SAMPLE_BYTES = 2**18
#: Share of bytes beyond ASCII that are followed by another one, below which letters are Latin.
LATIN_PAIRS = 0.4
#: Bytes beyond ASCII from which another script than Latin is recognised: a few may be damage.
MIN_BYTES = 12
#: Part of the expected share of usual characters from which an encoding is likely.
MIN_SCORE = 0.75
#: Signs beside the letters that are usual in every language.
SIGNS = "\xa0°§¡¿ªº€‘’“”„–—…«»·•、。，！？（）：；「」"
#: The most frequent characters of Chinese, simplified and traditional.
FREQUENT = (
    "的一是不了在人有我他这個个們们中来來上大为為和国國地到以说說時时要就出会會可也你对對生能而子那得于於着著"
    "下自之年过過发發后後作里裡用道行所然家种種事成方多经經么麼去法学學如都同现現当當没沒动動面起看定天分还還"
    "进進好小部其些主样樣理心她本前开開但因只从從想实實"
)


class _Usual(NamedTuple):
    """Letters that are usual in texts of an encoding."""

    #: Language or script, for messages.
    language: str
    #: Usual characters beyond ASCII, as in the brackets of a regular expression.
    letters: str
    #: Their smallest usual share of all characters beyond ASCII but SIGNS.
    share: float


#: Encodings that programs of offices save, and their languages. Of equally likely ones the first
#: one is taken: a language whose letters are only a part of another's bytes comes before it.
USUAL = {
    "cp1252": _Usual("Western European", "à-öø-üþÿÀ-ÖØ-ÜÞßœŒšž", 1),
    "cp1250": _Usual(
        "Central European", "ąćęłńóśźżáčďéěíňřšťúůýžőűäöüßăâîşţĄĆĘŁŃÓŚŹŻČŘŠŽŮÚÝÁÍÉÖÜŐ", 1
    ),
    "cp1254": _Usual("Turkish", "çğıöşüâîûÇĞİÖŞÜ", 1),
    "cp932": _Usual("Japanese", "ぁ-ゖァ-ヺー", 0.3),
    "euc_jp": _Usual("Japanese", "ぁ-ゖァ-ヺー", 0.3),
    "cp949": _Usual("Korean", "가-힣", 0.95),
    "gb18030": _Usual("Chinese", FREQUENT, 0.15),
    "cp950": _Usual("traditional Chinese", FREQUENT, 0.15),
    "cp1255": _Usual("Hebrew", "א-ת", 1),
    "cp1256": _Usual("Arabic", "ء-ي،؟پچژگ", 1),
    "cp1253": _Usual("Greek", "Ά-ία-ώ", 0.97),
    "cp1251": _Usual("Cyrillic", "а-яёєіїґўј", 0.85),
    "cp874": _Usual("Thai", "ก-๛", 1),
}
#: Encodings that read bytes of other scripts as Latin letters.
LATIN = ("cp1252", "cp1250", "cp1254", "iso8859-1", "iso8859-15")


def likely(content: bytes) -> tuple[str, str]:
    """Return the likely encoding of bytes that are not UTF-8, and its language; "" for unknown."""
    # It decodes all the bytes. If several encodings are equally likely, that of the system is
    # taken.
    first = re.search(rb"[\x80-\xff]", content)
    start = content.rfind(b"\n", 0, first.start()) + 1 if first else 0
    sample = content[start : start + SAMPLE_BYTES]
    beyond = re.findall(rb"[\x80-\xff]+", sample)
    count = sum(map(len, beyond))
    if not count:
        return "", ""
    is_latin = count - len(beyond) < LATIN_PAIRS * count
    system = codecs.lookup(locale.getpreferredencoding(False)).name
    names = [name for name in USUAL if (name in LATIN) == is_latin]
    if count < MIN_BYTES:
        names = [name for name in names if name in LATIN]
    elif is_latin:
        names.append("cp932")  # whose kana may end with ASCII
    names.sort(key=lambda name: name != system)
    scores = {name: _score(sample, name) for name in names}
    for name in sorted(scores, key=lambda name: -scores[name]):
        if scores[name] >= MIN_SCORE and is_valid(content, name):
            return name, USUAL[name].language
    return "", ""


def _score(sample: bytes, name: str) -> float:
    """Return the share of usual characters over the expected share, at most 1; 0 if undecodable."""
    try:
        text = codecs.getincrementaldecoder(name)().decode(sample)
    except UnicodeDecodeError:
        return 0.0
    beyond = re.sub(rf"[\x00-\x7f{SIGNS}]", "", text)
    usual = len(re.findall(f"[{USUAL[name].letters}]", beyond))
    return min(1.0, usual / (USUAL[name].share * len(beyond))) if beyond else 1.0


def is_valid(content: bytes, encoding: str) -> bool:
    """Return True if an encoding decodes all bytes."""
    try:
        content.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True
