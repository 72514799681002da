"""Check digits, and other ways to be sure that a number is what it looks like."""

import math
import re
from collections import Counter
from collections.abc import Callable

_IBAN_LENGTHS = {
    "AT": 20, "BE": 16, "BG": 22, "CH": 21, "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "EE": 20,
    "ES": 24, "FI": 18, "FR": 27, "GB": 22, "GR": 27, "HR": 21, "HU": 28, "IE": 22, "IS": 26,
    "IT": 27, "LI": 21, "LT": 20, "LU": 20, "LV": 21, "MC": 27, "MT": 31, "NL": 18, "NO": 15,
    "PL": 28, "PT": 25, "RO": 24, "SA": 24, "SE": 24, "SI": 19, "SK": 24, "TR": 26, "UA": 29,
    "AE": 23, "BR": 29, "IL": 23, "QA": 29, "KW": 30, "PK": 24, "TN": 24, "RS": 22, "GE": 22,
}  # fmt: skip
_ODD = dict(
    zip(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        (
            *(1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 1, 0, 5, 7, 9, 13, 15, 17, 19, 21),
            *(2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23),
        ),
        strict=True,
    )
)
_DIHEDRAL = [
    "0123456789", "1234067895", "2340178956", "3401289567", "4012395678",
    "5987604321", "6598710432", "7659821043", "8765932104", "9876543210",
]  # fmt: skip
_PERMUTED = [
    "0123456789", "1576283094", "5803796142", "8916043527",
    "9453126870", "4286573901", "2793806415", "7046913258",
]  # fmt: skip
#: Bits a character: words lie below 4, random letters and digits of that length above.
_RANDOM_BITS = 4.2
_HEX = re.compile(r"[0-9a-fA-F-]+")


def _digits(text: str) -> list[int]:
    return [int(one) for one in text if one.isdecimal()]


def luhn(text: str) -> bool:
    """The sum that most numbered cards fulfil."""
    doubled = [
        digit if place % 2 == 0 else digit * 2 - 9 * (digit > 4)
        for place, digit in enumerate(reversed(_digits(text)))
    ]
    return sum(doubled) % 10 == 0


def card(text: str) -> bool:
    """A number of a payment card: its first digit is a network's, its last one fits."""
    digits = _digits(text)
    return digits[0] in (2, 3, 4, 5, 6) and len(set(digits)) > 1 and luhn(text)


def iban(text: str) -> bool:
    """An account number of a country that has them, with fitting check digits."""
    plain = text.replace(" ", "")
    if len(plain) != _IBAN_LENGTHS.get(plain[:2]):
        return False
    return int("".join(str(int(one, 36)) for one in plain[4:] + plain[:4])) % 97 == 1


def dni(text: str) -> bool:
    """A Spanish number ends in the letter that belongs to it."""
    plain = text.replace("-", "")
    number = plain[:-1].translate(str.maketrans("XYZ", "012"))
    return "TRWAGMYFPDXBNJZSQVHLCKE"[int(number) % 23] == plain[-1]


def codice_fiscale(text: str) -> bool:
    """An Italian tax code ends in the letter that belongs to it."""
    total = sum(
        _ODD[one] if place % 2 == 0 else int(one) if one.isdecimal() else ord(one) - ord("A")
        for place, one in enumerate(text[:15])
    )
    return chr(ord("A") + total % 26) == text[15]


def cpf(text: str) -> bool:
    """A Brazilian number ends in its two check digits."""
    digits = _digits(text)
    for length in (9, 10):
        total = sum(digit * (length + 1 - place) for place, digit in enumerate(digits[:length]))
        if total * 10 % 11 % 10 != digits[length]:
            return False
    return len(set(digits)) > 1


def nir(text: str) -> bool:
    """A French number ends in 97 less its remainder."""
    plain = text.replace(" ", "")
    return 97 - int(plain[:13]) % 97 == int(plain[13:])


def pesel(text: str) -> bool:
    """A Polish number ends in its check digit."""
    digits = _digits(text)
    weighted = sum(d * w for d, w in zip(digits, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3), strict=False))
    return -weighted % 10 == digits[10]


def personnummer(text: str) -> bool:
    """The last ten digits of a Swedish number fulfil the sum of cards."""
    return luhn("".join(map(str, _digits(text)[-10:])))


def hetu(text: str) -> bool:
    """A Finnish code ends in the character that belongs to it."""
    number = int(text[:6] + text[7:10])
    return "0123456789ABCDEFHJKLMNPRSTUVWXY"[number % 31] == text[10]


def rijksregister(text: str) -> bool:
    """A Belgian number ends in 97 less its remainder; people born since 2000 have a 2 before it."""
    plain = "".join(map(str, _digits(text)))
    return int(plain[9:]) in (97 - int(plain[:9]) % 97, 97 - int(f"2{plain[:9]}") % 97)


def verhoeff(text: str) -> bool:
    """The sum that Indian numbers fulfil."""
    check = 0
    for place, digit in enumerate(reversed(_digits(text))):
        check = int(_DIHEDRAL[check][int(_PERMUTED[place % 8][digit])])
    return check == 0


def gb11643(text: str) -> bool:
    """A Chinese number ends in the character that belongs to it."""
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    total = sum(int(one) * weight for one, weight in zip(text, weights, strict=False))
    return "10X98765432"[total % 11] == text[-1].upper()


def phone(text: str) -> bool:
    """As many digits as telephone numbers have."""
    return 8 <= len(_digits(text)) <= 15


def mixed(text: str) -> bool:
    """Not a word: letters with digits or signs among them."""
    core = text.strip(".,!?:()[]<>*")
    kinds = sum((bool(re.search(r"[A-Za-z]", core)), bool(re.search(r"\d", core))))
    odd = re.search(r"[^\w\s.'’/-]", core) is not None
    return len(core) >= 4 and (kinds == 2 or (odd and kinds == 1))


def random(text: str) -> bool:
    """Letters of both cases and digits in no order; digests, ids and paths are not meant."""
    if _HEX.fullmatch(text) or text.count("/") > 2 or text.count("-") > 3:
        return False
    kinds = (any(map(str.islower, text)), any(map(str.isupper, text)), any(map(str.isdigit, text)))
    counted = Counter(text).values()
    bits = -sum(n / len(text) * math.log2(n / len(text)) for n in counted)
    return all(kinds) and bits >= _RANDOM_BITS


CHECKS: dict[str, Callable[[str], bool]] = {
    one.__name__: one
    for one in (
        *(luhn, card, iban, dni, codice_fiscale, cpf, nir, pesel, personnummer, hetu),
        *(rijksregister, verhoeff, gb11643, phone, mixed, random),
    )
}
