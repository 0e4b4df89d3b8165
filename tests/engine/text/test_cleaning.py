from __future__ import annotations

import re
import unicodedata
from zlib import crc32

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pipeline.engine.model.features import gram_hashes, word_hashes
from pipeline.engine.text import cleaning as noise
from pipeline.engine.text.cleaning import (
    ENOUGH,
    EXCLUDING,
    LONGEST,
    MAX_CHARS,
    MAX_WORDS,
    REACH,
    REACH_IN_BRACKETS,
    TITLE,
    WordPattern,
    clauses,
    item_of,
    meaning,
    readable,
    words,
    written_sentences,
)

WANTED = (
    "Twelve drum kits, four pairs of cymbals and two xylophones for the brass band of the naval "
    "school, with cases, sticks and spare skins, tuned in the hall on the island."
)

FORMULAS = {
    "en": "This is a combined synopsis/solicitation for commercial products prepared in accordance "
    "with FAR subpart 12.6. Offers are due no later than noon. Vendors must be registered in SAM.",
    "de": "Angebote sind in Textform einzureichen. Die Vergabeunterlagen stehen zum Abruf bereit.",
    "fr": "Les variantes ne sont pas autorisées. La date limite de remise des offres est fixée au "
    "règlement de la consultation.",
    "es": "Todo ello conforme al pliego. Las ofertas se presentarán en la Plataforma de "
    "Contratación del Sector Público.",
    "pt": "As propostas devem cumprir o Caderno de Encargos.",
    "it": "La stazione appaltante si riserva di non procedere all'aggiudicazione.",
    "pl": "Dokładny termin składania ofert podano w ogłoszeniu. Zamawiający nie dopuszcza ofert "
    "wariantowych.",
    "cs": "Podrobnosti jsou v zadávací dokumentaci. Lhůta pro podání nabídek končí v deset hodin.",
    "nl": "Inschrijvingen dienen te worden ingediend via TenderNed.",
    "ro": "Ofertele se depun în SEAP. Criteriul de atribuire este prețul cel mai scăzut.",
    "sv": "Anbud ska vara inkomna före tolv.",
    "da": "Udbuddet gennemføres som offentligt udbud. Yderligere krav fremgår af udbudsmaterialet.",
    "nb": "Tilbudsfristen er klokken tolv. Se konkurransegrunnlaget for nærmere informasjon.",
    "fi": "Tarjoukset tulee jättää sähköisesti.",
    "et": "Pakkumuste esitamise tähtaeg on kell kümme. Pakkumused esitatakse registris.",
    "hu": "Az ajánlatokat elektronikusan kell benyújtani. Az ajánlattételi határidő tíz óra.",
    "sk": "Lehota na predkladanie ponúk uplynie o desiatej. Ponuky sa predkladajú elektronicky.",
    "sl": "Rok za oddajo ponudb poteče ob desetih. Ponudbe se oddajo elektronsko.",
    "hr": "Rok za dostavu ponuda istječe u deset. Ponude se dostavljaju elektronički.",
    "lv": "Piedāvājumu iesniegšanas termiņš ir pulksten desmit. Piedāvājumi iesniedzami EIS.",
    "lt": "Pasiūlymų pateikimo terminas yra dešimta valanda. Pasiūlymai teikiami sistemoje.",
    "el": "Προσφορές υποβάλλονται ηλεκτρονικά. Κριτήριο ανάθεσης είναι μόνο η τιμή.",
    "bg": "Офертите подават чрез платформата. Критерий за възлагане: най-ниска цена.",
    "contact": "Contracting Officer: Ann Example\nPhone: (478) 555-0134\nEmail: ann@x.example\n"
    "12 Sample Street, Bldg 3, Exampletown, GA 31098-1867",
}


def meant(text: str) -> list[str]:
    return meaning(readable(text)).split()


@pytest.mark.parametrize("formulas", FORMULAS.values(), ids=FORMULAS.keys())
@pytest.mark.parametrize("shape", ["{noise}\n{text}", "{text} {noise}", "{noise} {text} {noise}"])
def test_formulas_round_a_text_are_left_out_in_every_language(formulas: str, shape: str) -> None:
    if formulas == FORMULAS["contact"]:
        shape = shape.replace(" ", "\n")  # contacts are on lines of their own
    assert meant(shape.format(noise=formulas, text=WANTED)) == meant(WANTED)
    capitals = shape.format(noise=formulas, text=WANTED).upper()
    assert meant(capitals) == meant(WANTED)
    written = written_sentences(shape.format(noise=formulas, text=WANTED))
    assert "".join(part for part, _ in written) == shape.format(noise=formulas, text=WANTED)
    assert "".join(part for part, is_dull in written if not is_dull).strip() == WANTED


@pytest.mark.parametrize("text", ["", "Offers are due at noon.", f"{FORMULAS['contact']}\n"])
def test_nothing_of_a_title_or_of_a_text_without_anything_else_is_boilerplate(text: str) -> None:
    assert written_sentences(text) == [(text, False)]


def test_clauses_as_long_as_a_book_do_not_hide_what_follows_them() -> None:
    clauses = "The contractor shall comply with all applicable laws and regulations. " * 700
    assert len(clauses) > 40_000
    assert meant(clauses + WANTED) == meant(WANTED)


def test_a_sentence_that_says_what_is_wanted_stays_although_it_has_a_formula() -> None:
    text = f"{WANTED} This request for quotation is for the supply of brass instruments."
    assert meant(text) == readable(text).split()


@pytest.mark.parametrize(
    "line",
    [
        "Zaproszenie do składania ofert na remont drogi",
        "Termin składania ofert na usługi sprzątania",
        "Výzva na predkladanie ponúk: oprava strechy",
        "Ajánlattételi felhívás: játszótér felújítása",
        "Ajánlatokat kérünk takarításra",
        "Tarjouspyyntö on siivouksesta",
        "Tilbud skadedyrsbekæmpelse",
        "Upphandlingen genomförs som upphandling av skolmöbler",
        "Konkurransen gjennomføres for kjøp av møbler",
    ],
)
def test_an_invitation_that_names_its_subject_stays_in_every_language(line: str) -> None:
    text = f"{line}\n{WANTED}"
    assert meant(text) == readable(text).split()


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("RFQ 36C24824Q0123 - drum kits", "rfq - drum kits"),
        ("W912DY-24-R-0001: drum kits", ": drum kits"),
        ("2024/S 123-456789 drum kits", "drum kits"),
        ("drum kits 15.03.2024 or 3/15/2024 or 2024-03-15", "drum kits or or"),
        ("drum kits (125.000,00 EUR, $19,000.00, € 5,50)", "drum kits ( , , )"),
        ("drum kits, tél. 01 23 45 67 89, +49 30 1234567-89", "drum kits, ,"),
    ],
)
def test_numbers_of_notices_dates_amounts_and_telephones_are_left_out(text: str, left: str) -> None:
    assert meant(text) == left.split()


@pytest.mark.parametrize(
    "text",
    [
        "valve 4820-01-234-5678, 12 each",
        "spare parts for C-130H and F-16, p/n 185A500-100",
        "cisco c9407-96-bndl",
        "school in 2024, phase 3, lots 4-8",
        "fax machines and phone systems, 220/400 V",
        "36C24824Q0123",
        "15.03.2024",
    ],
)
def test_stock_numbers_types_and_quantities_stay_and_numbers_that_are_all_there_is(
    text: str,
) -> None:
    assert meaning(readable(text)) == readable(text)


def test_a_title_is_not_searched_for_boilerplate() -> None:
    title = "Legal advice on offers, proposals, solicitations and small business set-aside awards"
    assert len(title) <= TITLE
    assert meaning(readable(title)) == readable(title)


def test_markup_is_left_out_and_keeps_lines_apart() -> None:
    page = (
        "<html><style>p.x {color: red}</style><script>var a = 1;</script>"
        f"<p>{FORMULAS['contact'].replace(chr(10), '<br/>')}</p><p>{WANTED}</p></html>"
    )
    assert meant(page) == meant(WANTED)


def test_a_text_that_is_nothing_but_boilerplate_stays_whole() -> None:
    for formulas in FORMULAS.values():
        text = f"{formulas} " * 3
        left = noise.REFERENCE.sub(" ", readable(text)).split()
        assert sorted(meant(text)) == sorted(left)


SENTENCES = st.sampled_from([*FORMULAS.values(), "Drums.", "lot 3", "W912DY-24-R-0001", "5", "x"])


@given(st.lists(st.one_of(SENTENCES, st.text()), max_size=8).map(" ".join))
@example("email: Drums.")
def test_a_text_that_has_words_keeps_some_and_gets_none(text: str) -> None:
    seen = readable(text)
    words, left = noise.WORD.findall(seen), noise.WORD.findall(meaning(seen))
    assert bool(left) == bool(words)
    assert set(left) <= set(words)


@given(st.lists(st.sampled_from(["drums", "cymbals", "of", "brass", "2024"]), max_size=80))
def test_a_text_without_boilerplate_stays_as_it_is(words: list[str]) -> None:
    text = " ".join(words)
    assert meant(text) == text.split()


PATTERNS = [
    noise.REFERENCE,
    *(noise.STOP, noise.DIGITS),
]


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.pattern[:20])
def test_no_pattern_that_is_looked_for_everywhere_repeats_without_bound(
    pattern: re.Pattern[str],
) -> None:
    """What is tried at each place of a text takes bounded time there: linear in all."""
    bare = re.sub(r"  # .*|\\.|\[[^]]*\]", "_", pattern.pattern)  # no comments, no classes
    assert not re.search(r"[*+]|\{\d+,\}", bare)


def test_no_sentence_is_longer_than_the_patterns_that_are_tried_on_it_may_see() -> None:
    for text in ("x" * 5_000, "drum " * 1_000, "a, " * 2_000, "1 234 " * 900):
        assert max(map(len, noise.sentences(text))) <= LONGEST + 1


def test_no_more_is_read_than_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    judged = noise._is_boilerplate

    def judging(sentence: str) -> bool:
        seen.append(sentence)
        return judged(sentence)

    monkeypatch.setattr(noise, "_is_boilerplate", judging)
    meaning("Drums and cymbals for the band. " * 3_000)
    assert sum(map(len, seen)) <= ENOUGH + LONGEST
    assert len(readable("drums " * 10_000_000)) <= MAX_CHARS


@pytest.mark.parametrize(
    ("text", "excluded"),
    [
        ("stores (except food) and markets", ["food"]),
        ("stores (except food; drinks. tobacco), new", ["food; drinks. tobacco"]),
        ("stores (except (fresh) food) and markets", ["(fresh) food"]),
        ("stores (except (fresh food and markets", [""]),
        ("office equipment except furniture and paper. delivery", ["furniture and paper"]),
        ("services other than cleaning: lot 2", ["cleaning"]),
        ("one (except a), two (excluding b)", ["a", "b"]),
        ("mobel (ohne stuhle), regale ohne turen", ["stuhle"]),
        ("travaux, a l'exception de la peinture", ["de la peinture"]),
        ("exceptional services, unexceptional", []),
        ("equipment except", [""]),
        ("except meals", ["meals"]),
        ("", []),
    ],
)
def test_an_exception_goes_to_the_end_of_its_bracket_or_clause(
    text: str, excluded: list[str]
) -> None:
    assert [clause.strip() for clause, out in clauses(text) if out] == excluded


def test_outside_brackets_an_exception_ends_with_a_word_after_its_reach() -> None:
    [_, (excluded, out), (rest, _)] = clauses("all except " + "word " * 100)
    assert out
    assert REACH <= len(excluded) <= REACH + len("word")
    assert excluded.endswith("word")
    assert rest.startswith(" word")


def test_a_bracket_that_is_not_closed_does_not_swallow_the_text() -> None:
    (_, (excluded, out), *_) = clauses("all (except " + "word " * 100)
    assert out
    assert len(excluded) <= REACH_IN_BRACKETS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Road WORKS", ["road", "works"]),
        ("Büromöbel, Škoda; café", ["buromobel", "skoda", "cafe"]),
        ("Straße", ["strasse"]),
        ("Προμήθεια ΥΠΗΡΕΣΊΕΣ", ["προμηθεια", "υπηρεσιεσ"]),
        ("Изграждане на път", ["изграждане", "на", "път"]),
        ("<p class='x'>Road</p><br/>works", ["road", "works"]),
        ("caf&eacute; &amp; bar&nbsp;supplies", ["cafe", "bar", "supplies"]),
        ("<!-- none --> chairs", ["chairs"]),
        ("&lt;strong&gt;Road&lt;/strong&gt; works", ["road", "works"]),
        ("bridges < 5 m, tunnels > 9 m", ["bridges", "tunnels"]),
        ("lot 45233141-9 in 2024", ["lot", "in"]),
        ("A4paper x2y hi-fi snake_case", ["paper", "hi", "fi", "snake", "case"]),
        ("Windows™ №5 \U0001d411oad", ["windowstm", "no", "road"]),
        ("ﬁre ＥＮＧＩＮＥ", ["fire", "engine"]),  # noqa: RUF001
        ("a b c", []),
        ("12 34 --- !!!", []),
        ("", []),
    ],
)
def test_words_are_letters_without_case_accents_tags_and_entities(
    text: str, expected: list[str]
) -> None:
    assert words(text) == expected


def test_a_text_written_in_capitals_or_decomposed_has_the_same_words() -> None:
    assert words("İSTANBUL MÜNCHEN") == words("i̇stanbul mu\u0308nchen")


def test_only_the_first_words_of_a_long_text_count() -> None:
    assert words("road " * MAX_WORDS + "bridge") == ["road"] * MAX_WORDS


def test_a_huge_cell_costs_little() -> None:
    assert words("x" * 10_000_000) == ["x" * 60] * MAX_WORDS
    assert words(" " * MAX_CHARS + "road") == []


@given(st.text())
def test_words_of_any_text_are_bounded_and_free_of_case_digits_and_signs(text: str) -> None:
    for word in words(text):
        assert len(word) >= 2
        assert word == word.casefold()
        assert word.isalnum()
        assert not any(character.isdecimal() for character in word)
    assert len(words(text)) <= MAX_WORDS


@given(st.text(st.characters(categories=["Nd", "P", "Zs"], exclude_characters="&")))
def test_digits_and_punctuation_are_not_words(text: str) -> None:
    assert words(text) == []


@pytest.mark.parametrize(
    ("text", "item"),
    [
        ("Purchase of hardware. Claw hammers", "Claw hammers"),
        ("Acquisto di arredi - Lotto 2 | sedie per ufficio", "sedie per ufficio"),
        ("Fuel for 2025:\ndiesel, 500 l. 17.3", "diesel, 500 l."),
        ("Claw hammers", ""),
        ("Claw hammers. ", ""),
        ("One chair. Two tables, and all that belongs to them and is not named here", ""),
        (f"{'Purchase of hardware for the town. ' * 9}Claw hammers", ""),
        ("", ""),
    ],
)
def test_a_brief_last_part_of_a_short_text_is_its_item(text: str, item: str) -> None:
    assert item_of(text) == item


FOLDED = st.text(st.sampled_from("abcz01_-. \n\u00df\u0142\u0434\u2019"), max_size=30)


@settings(max_examples=30)
@given(FOLDED)
@pytest.mark.parametrize(
    "pattern", [r"[^\W\d_]{2,60}", r"(?<![^\W_])[^\W\d_]{2,6}(?![^\W_])", r"[^\W\d_]+|\d{2}"]
)
def test_words_are_found_alike_in_ascii_and_in_other_texts(pattern: str, text: str) -> None:
    found = WordPattern(pattern)
    assert found.findall(text) == re.findall(pattern, text)
    assert [match[0] for match in found.finditer(text)] == re.findall(pattern, text)


def test_each_word_that_begins_an_exclusion_is_looked_for() -> None:
    words = [*EXCLUDING["words"], *EXCLUDING["in_brackets"]]
    assert [word for word in words if not any(stem in word for stem in EXCLUDING["stems"])] == []
    for word in EXCLUDING["words"]:
        text = f"stores {word.replace(chr(92) + 'W', ' ')} food"
        assert any(excluded for _, excluded in clauses(text)), word


def test_every_accent_is_removed_and_nothing_else() -> None:
    points = [chr(point) for point in range(0x1F000)]
    accents = "".join(
        each for each in points if unicodedata.combining(each) and each == each.casefold()
    )
    for accent in accents:
        assert readable(f"a{accent}b") == "ab"
    grapheme_joiner = "\u034f"
    assert readable(f"a{grapheme_joiner}b") == f"a{grapheme_joiner}b"


WORDS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), max_size=8)


@settings(max_examples=30)
@given(WORDS)
def test_the_hash_of_a_word_is_that_of_its_marked_bytes(words: list[str]) -> None:
    assert word_hashes(words).tolist() == [crc32(f"={word}".encode()) for word in words]


@settings(max_examples=30)
@given(WORDS, st.sampled_from([(3, 4, 5), (5,)]))
def test_the_hashes_of_n_grams_are_those_of_their_bytes_in_any_script(
    words: list[str], lengths: tuple[int, ...]
) -> None:
    hashes, owners = gram_hashes(words, lengths)
    for place, word in enumerate(words):
        marked = f"<{word}>"
        grams = [
            marked[start : start + length]
            for length in lengths
            for start in range(len(marked) - length + 1)
        ]
        expected = sorted(crc32(gram.encode()) for gram in grams)
        assert sorted(hashes[owners == place].tolist()) == expected
