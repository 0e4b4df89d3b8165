"""Asks for the supply, rental, repair and installation of the same things, in seven languages.

    python -m benchmarks.verbs

Prints of how many descriptions the first code of each system has the act that the verb says, and,
for comparison, of how many the words alone say it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

import pipeline
from benchmarks.command_line import parser_for
from pipeline.answers import SYSTEMS, System
from pipeline.engine.acts import Act, acts_of_codes, acts_of_text

VERBS = (Act.SUPPLY, Act.LEASE, Act.REPAIR, Act.INSTALLATION)

_VERBS: Mapping[str, tuple[str, str, str, str]] = {
    "en": ("Supply of", "Rental of", "Repair of", "Installation of"),
    "de": ("Lieferung von", "Anmietung von", "Reparatur von", "Montage von"),
    "fr": ("Fourniture de", "Location de", "Réparation de", "Installation de"),
    "es": ("Suministro de", "Alquiler de", "Reparación de", "Instalación de"),
    "it": ("Fornitura di", "Noleggio di", "Riparazione di", "Installazione di"),
    "pl": ("Dostawa", "Wynajem", "Naprawa", "Montaż"),
    "nl": ("Levering van", "Huur van", "Reparatie van", "Installatie van"),
}

_THINGS: Mapping[str, str] = {
    "en": """generators, air conditioners, photocopiers, water pumps, security cameras, boilers,
        compressors, washing machines, projectors, traffic lights, telephone systems, freezers""",
    "de": """Stromerzeugern, Klimageräten, Kopiergeräten, Wasserpumpen, Überwachungskameras,
        Heizkesseln, Kompressoren, Waschmaschinen, Projektoren, Verkehrsampeln, Telefonanlagen,
        Gefrierschränken""",
    "fr": """groupes électrogènes, climatiseurs, photocopieurs, pompes à eau,
        caméras de surveillance, chaudières, compresseurs, machines à laver, projecteurs vidéo,
        feux de circulation, systèmes téléphoniques, congélateurs""",
    "es": """generadores eléctricos, aparatos de aire acondicionado, fotocopiadoras,
        bombas de agua, cámaras de seguridad, calderas, compresores, lavadoras, proyectores,
        semáforos, centralitas telefónicas, congeladores""",
    "it": """gruppi elettrogeni, condizionatori, fotocopiatrici, pompe idrauliche, telecamere,
        caldaie, compressori, lavatrici, proiettori, semafori, centralini telefonici,
        congelatori""",
    "pl": """agregatów prądotwórczych, klimatyzatorów, kserokopiarek, pomp wodnych,
        kamer monitoringu, kotłów, sprężarek, pralek, projektorów, sygnalizacji świetlnej,
        central telefonicznych, zamrażarek""",
    "nl": """generatoren, airconditioners, kopieermachines, waterpompen, bewakingscamera's,
        verwarmingsketels, compressoren, wasmachines, projectoren, verkeerslichten,
        telefooncentrales, vriezers""",
}
"""The same twelve things in each language, in the case that follows its verbs."""

_SAME = {Act.INSTALLATION: {Act.INSTALLATION, Act.WORKS}, Act.REPAIR: {Act.REPAIR}}
"""The acts of the codes for an act: the CPV and the NAICS install as works in buildings."""


def descriptions() -> dict[str, tuple[str, Act]]:
    """Return each description with its language and the act that its verb says."""
    return {
        f"{verb} {' '.join(thing.split())}": (language, act)
        for language, verbs in _VERBS.items()
        for verb, act in zip(verbs, VERBS, strict=True)
        for thing in _THINGS[language].split(",")
    }


def asked_act(text: str) -> Act | None:
    """Return the act that the words of a text say, None if they say none."""
    strengths = acts_of_text(text)
    return Act(int(strengths.argmax())) if strengths.any() else None


def is_followed(act: Act, system: System, code: str) -> bool:
    """Tell whether a code has the act that a verb says."""
    return acts_of_codes(system, np.array([code]))[0] in _SAME.get(act, {act})


def main() -> None:
    """Print the table."""
    parser_for(__file__, __doc__).parse_args()
    asked = descriptions()
    rows = pipeline.classify([*asked]).table.to_pylist()
    followed: Counter[tuple[str, Act]] = Counter()
    for (text, (_, act)), row in zip(asked.items(), rows, strict=True):
        followed["words", act] += asked_act(text) == act
        for system in SYSTEMS:
            code = row[f"{system}_code"]
            followed[system, act] += bool(code) and is_followed(act, system, code)
    print(f"of {len(asked) // len(VERBS)} descriptions each:")
    for name in ("words", *SYSTEMS):
        counts = (f"{act.name.lower()} {followed[name, act]}" for act in VERBS)
        print(f"  {name:6} {', '.join(counts)}")


if __name__ == "__main__":
    main()
