from __future__ import annotations

import numpy as np
import pytest

from benchmarks.verbs import asked_act, descriptions
from pipeline.answers import SYSTEMS, System
from pipeline.codes import load
from pipeline.engine import acts
from pipeline.engine.acts import Act, acts_of_codes, acts_of_text

LEASE_AND_REPAIR = {
    "en": ("Hire of excavators", "Maintenance of excavators"),
    "bg": ("Наем на багери", "Ремонт на багери"),
    "cs": ("Pronájem bagrů", "Údržba bagrů"),
    "da": ("Leje af gravemaskiner", "Vedligeholdelse af gravemaskiner"),
    "de": ("Baggervermietung", "Aufzugswartung"),
    "el": ("Ενοικίαση εκσκαφέων", "Συντήρηση εκσκαφέων"),
    "es": ("Arrendamiento de excavadoras", "Mantenimiento de excavadoras"),
    "et": ("Ekskavaatorite rentimine", "Ekskavaatorite hooldus"),
    "fi": ("Kaivinkoneiden vuokraus", "Kaivinkoneiden huolto"),
    "fr": ("Location de pelleteuses", "Entretien de pelleteuses"),
    "ga": ("Tochaltóirí a leasú", "Cothabháil tochaltóirí"),
    "hr": ("Najam bagera", "Održavanje bagera"),
    "hu": ("Kotrógépek bérlete", "Kotrógépek karbantartása"),
    "it": ("Noleggio di escavatori", "Manutenzione di escavatori"),
    "lt": ("Ekskavatorių nuoma", "Ekskavatorių remontas"),
    "lv": ("Ekskavatoru noma", "Ekskavatoru apkope"),
    "mt": ("Kiri ta' skavaturi", "Manutenzjoni ta' skavaturi"),
    "nl": ("Huur van graafmachines", "Liftonderhoud"),
    "no": ("Utleie av gravemaskiner", "Vedlikehold av gravemaskiner"),
    "pl": ("Wynajem koparek", "Konserwacja koparek"),
    "pt": ("Aluguer de escavadoras", "Manutenção de escavadoras"),
    "ro": ("Închiriere de excavatoare", "Întreținere excavatoare"),
    "ru": ("Аренда экскаваторов", "Техническое обслуживание экскаваторов"),
    "sk": ("Prenájom bagrov", "Údržba bagrov"),
    "sl": ("Najem bagrov", "Vzdrževanje bagrov"),
    "sv": ("Hyra av grävmaskiner", "Underhåll av grävmaskiner"),
    "uk": ("Оренда екскаваторів", "Ремонт екскаваторів"),
}


@pytest.mark.parametrize("language", LEASE_AND_REPAIR)
def test_hire_and_repair_are_known_in_each_language(language: str) -> None:
    lease, repair = LEASE_AND_REPAIR[language]
    assert (asked_act(lease), asked_act(repair)) == (Act.LEASE, Act.REPAIR)


def test_no_word_of_an_act_is_shorter_than_what_it_is_looked_up_by() -> None:
    _, words = acts._words()
    assert {start: len(start) for start in words} == dict.fromkeys(words, acts.FIRST)


def test_each_verb_is_known_with_each_thing() -> None:
    asked = descriptions()
    assert len(asked) == 4 * 7 * 12
    assert {text: asked_act(text) for text in asked} == {
        text: act for text, (_, act) in asked.items()
    }


@pytest.mark.parametrize(
    ("text", "act"),
    [
        ("Supply and installation of lifts", Act.SUPPLY),
        ("Lieferung und Montage von Aufzügen", Act.SUPPLY),
        ("Provisión y montaje de equipos y repuestos", Act.SUPPLY),
        ("Supply of pumps, excluding maintenance and repair", Act.SUPPLY),
        ("Printers without installation; supply", Act.SUPPLY),
        ("Repair of trucks. Supply of parts as needed", Act.REPAIR),
        ("Suministro mediante arrendamiento de vehículos", Act.LEASE),
        ("Servicio de alquiler de maquinaria", Act.LEASE),
        ("Aquisição de serviços de manutenção de elevadores", Act.REPAIR),
        ("Purchase of catering services", Act.SERVICE),
        ("Labour hire: case manager", Act.SERVICE),
        ("Legal services", Act.SERVICE),
        ("Servizio di tesoreria", Act.SERVICE),
        ("Grounds maintenance", Act.SERVICE),
        ("Entretien des espaces verts", Act.SERVICE),
        ("Construction of a school", Act.WORKS),
        ("Neubau Sporthalle, Objektplanung", Act.SERVICE),
        ("Výstavba školy - výkon technického dozoru", Act.SERVICE),
        ("Malerarbeiten", Act.WORKS),
        ("Research on ocean currents", Act.RESEARCH),
    ],
)
def test_what_a_text_says_first_and_for_certain_is_its_act(text: str, act: Act) -> None:
    assert asked_act(text) == act


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Excavators",
        "Repair kits",
        "Maintenance vehicles",
        "Location: Fort Bragg",
        "Dynamic purchasing system",
        "Release of brent oil, talent, Oostende",
    ],
)
def test_a_text_without_a_word_of_an_act_names_none(text: str) -> None:
    assert acts_of_text(text).tolist() == [0] * len(Act)


def test_the_beginning_counts_more_than_what_follows() -> None:
    early, late = (acts_of_text(f"{'x' * n} hire of cars")[Act.LEASE] for n in (1, 300))
    assert 1 > early > 2 * late > 0
    assert not acts_of_text(f"{'word ' * 200} hire of cars").any()


def test_renovation_is_works_and_repair_at_once() -> None:
    found = acts_of_text("Sanierung der Schule")
    assert found[Act.WORKS] == found[Act.REPAIR] == 1
    assert found.dtype == np.float32


@pytest.mark.parametrize(
    ("system", "act", "codes"),
    [
        ("cpv", Act.SUPPLY, "34110000 48000000 03111000"),
        ("cpv", Act.WORKS, "45214200 45233120"),
        ("cpv", Act.REPAIR, "50112000 45259000 72267000"),
        ("cpv", Act.INSTALLATION, "51110000 45313100"),
        ("cpv", Act.LEASE, "60182000 45510000 70310000"),
        ("cpv", Act.RESEARCH, "73111000"),
        ("cpv", Act.SERVICE, "90911000 79310000 60112000"),
        ("psc", Act.LEASE, "W023 X1AA"),
        ("psc", Act.REPAIR, "J023 Z1AA"),
        ("psc", Act.SUPPLY, "2310 7A20 S112"),
        ("psc", Act.WORKS, "Y1CA P400"),
        ("psc", Act.SERVICE, "R425 S201 DA01"),
        ("psc", Act.INSTALLATION, "N041"),
        ("psc", Act.RESEARCH, "AN11"),
        ("unspsc", Act.LEASE, "80161801 78111808"),
        ("unspsc", Act.REPAIR, "78181500 72101500"),
        ("unspsc", Act.SUPPLY, "25101500 60000000"),
        ("unspsc", Act.WORKS, "72120000"),
        ("naics", Act.LEASE, "532412"),
        ("naics", Act.REPAIR, "811310"),
        ("naics", Act.SUPPLY, "333120 423810"),
        ("naics", Act.RESEARCH, "541715"),
        ("naics", Act.SERVICE, "541910 115116"),
    ],
)
def test_the_longest_beginning_of_a_code_says_its_act(system: System, act: Act, codes: str) -> None:
    assert {*acts_of_codes(system, np.array(codes.split()))} == {act}


@pytest.mark.parametrize("system", SYSTEMS)
def test_codes_whose_title_says_rental_are_leases(system: System) -> None:
    titles = {code: title.casefold() for code, title in load(system).titles.items()}
    rentals = [code for code, title in titles.items() if title.startswith(("rental", "hire of"))]
    assert {*acts_of_codes(system, np.array(rentals, np.str_))} <= {Act.LEASE}
