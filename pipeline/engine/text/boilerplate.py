"""The boilerplate patterns: phrases of notices that say how to bid, not what is bought.

They are written as `pipeline.engine.text.cleaning` reads texts: without case and accents.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cache

__all__ = ["OPENING", "POSTAL", "REFERENCE", "SUBJECT", "factored", "formula"]


QUANTIFIERS = tuple("?*+{")


def factored(alternatives: Iterable[str]) -> str:
    """Return the alternation of regular expressions, without a group around it.

    An alternative may have groups, but no ``|`` outside them.
    """
    by_letter: dict[str, list[str]] = defaultdict(list)
    for one in dict.fromkeys(alternatives):
        is_letter = one[:1].isalnum() and not one[1:].startswith(QUANTIFIERS)
        by_letter[one[0] if is_letter else one].append(one)
    return "|".join(
        some[0] if len(some) == 1 else f"{letter}(?:{factored(one[1:] for one in some)})"
        for letter, some in by_letter.items()
    )


def split(expression: str) -> list[str]:
    """Return the alternatives of a regular expression: its parts between ``|`` outside groups."""
    found, depth = [""], 0
    for character in expression:
        depth += (character == "(") - (character == ")")
        if character == "|" and not depth:
            found.append("")
        else:
            found[-1] += character
    return found


def _any_of(lines: str) -> str:
    """Return the alternation of patterns, one a line; a line with `#` is a comment."""
    patterns = [line.strip() for line in lines.splitlines()]
    kept = "|".join(line for line in patterns if line and not line.startswith("#"))
    return factored(split(kept))


REFERENCE = re.compile(
    r"""
      \b (?:
          (?= [a-z]{0,5}\d ) (?:
              [a-z0-9]{6} -? \d\d -? [a-z] -? (?= [a-z]{0,3}\d ) [a-z0-9]{4,5}  # W912DY-24-R-0001
            | (?:19|20)\d\d / s \s? \d{1,3} \s? - \s? \d{5,8}                   # 2024/S 123-456789
            | (?<! \w[.,/-] ) (?:
                  \d{1,2} [./-] \s? \d{1,2} [./-] \s? (?:19|20)\d\d             # 15.03.2024
                | (?:19|20)\d\d - \d\d - \d\d                                   # 2024-03-15
              ) (?! -? \w )
            | \d{1,3} (?: [., ] \d{3} ){1,4} [.,] \d\d \s? (?:eur|usd|\u20ac|\$)  # 125.000,00 EUR
          ) (?! \w )
        | (?= [ftmp] ) (?: tel(?:e[fp]h?on[eo]?)? | phone | fax | mobile ) \b \.? \s? :? \s?
            [(+]? \d [\d ()/.-]{5,20} \d                                    # tel.: 01 23 45 67 89
      )
    | [$\u20ac\u00a3] \s? \d{1,3} (?: [., ]? \d{3} ){0,4} (?: [.,] \d\d? )? \b  # $19,000.00
    | \( \d{3} \) \s? \d{3} [ .-] \d{4} \b                                  # (478) 555-0134
    | \+ \d{1,3} [ (/-] [\d ()/-]{6,20} \d                                  # +49 30 1234567-89
    """,
    re.VERBOSE,
)
"""Notice numbers, dates, amounts and telephone numbers: they do not say what is bought.

Every part is bounded, so that the search is linear in the text.
"""

OPENING = re.compile(
    r"""
    \s (?=
        this\ (?: (?:is|is\ not)\ an?\ (?:combined|solicitation|request|sources|pre|notice|synopsis)
          | (?:notice|announcement|solicitation|synopsis|acquisition|procurement)\ (?:is|constitutes
              |does|will|incorporates|document|of\ intent) )
      | the\ (?:government\ (?:intends|reserves|will|does)|solicitation\ (?:number|document)
          |associated\ naics|naics|small\ business\ size|proposed\ contract|anticipated\ award)
      | (?:all\ )?(?:responsible|interested)\ (?:sources|parties|persons|vendors|offerors)
      | (?:point\ of\ contact|primary\ contact|contracting\ officer\ ?:|naics\ (?:code|is|\d))
    )
    """,
    re.VERBOSE,
)
"""Phrases that begin boilerplate even without a full stop before them."""


@cache
def formula() -> re.Pattern[str]:
    """Return the pattern of what says how to bid, in a sentence after a space.

    It takes a twentieth of a second to compile, and short texts do not need it.
    """
    return re.compile(
        r"\W(?:"
        + _any_of(
            r"""
    # Federal notices of the United States
    combined synopsis
    only solicitation
    written (?:solicitation|request)
    far (?:sub)?part \d
    subpart 12\.6
    d?far[s ]{0,2} ?\d{2,3}\.\d
    (?:52|252|352|552|852)\.2\d\d-\d
    federal acquisition (?:circular|regulation)
    incorporated (?:herein )?by reference
    additional information included in
    set[ -]aside
    small business(?:es)? (?:concern|size|set|program|under)
    size standard
    naics (?:code|\d|is)
    system for award management
    sam\.gov|registered in sam\b|active (?:sam )?registration
    request for (?:quot|competitive|proposal|tender)
    contracting officer|contract specialist|points? of contact|primary contact
    intent is not|not a (?:solicitation|request)
    solicit(?:ation)? (?:and negotiate|number|no\b)
    (?:all|any) (?:responsible|interested) (?:sources|parties|persons|vendors|offerors)
    (?:shall|will) be considered (?:by|solely)
    discretion of the government
    responses? (?:due|date|to this)|due (?:date|no later)|no later than
    (?:quotes?|quotations|offers|proposals|bids|submissions|responses) (?:are|is) (?:due|rece|cons)
    (?:quotes?|quotations|offers|proposals) (?:will|must|shall|should) be (?:due|subm|rece|cons)
    (?:bids|submissions|responses) (?:will|must|shall|should) be (?:due|subm|rece|cons)
    responsible (?:offeror|bidder|vendor)
    technically acceptable
    wide area work ?flow|wawf\b
    costs incurred|pay for any information
    amendments? will be posted|point of entry
    contract disputes act
    # German
    vergabeunterlagen|vergabeplattform|vergabeportal|vergabekammer|vergabeverfahren
    siehe (?:leistungs|vergabe|ausschreibungs|anlage|beschreibung)
    angebotsfrist|bieterfragen|nebenangebote|eigenerklarung|ausschlussgrund
    zuschlag (?:wird|erfolgt|erteilt)|zuschlagskriterien
    (?:nach|gemass) (?:\u00a7{1,2} ?\d|vob|vgv|uvgo|gwb)
    ansprechpartner|kontaktstelle|aktenzeichen|vergabenummer
    angebote (?:sind|mussen|konnen|werden)
    # French
    dossier de consultation|reglement de (?:la )?consultation|profil d.acheteur
    remise des offres|reception des offres|code de la commande publique
    variantes (?:ne )?sont|attribution separee|emission de bons de commande
    pouvoir adjudicateur se|tribunal administratif|procedure adaptee
    prestations sont reglees|personne a contacter|formulaires? dc\d
    # Spanish
    conforme (?:al|a lo|a los|con el) (?:pliego|establecido|dispuesto)
    pliegos? de (?:clausulas|condiciones|prescripciones)
    plataforma de contratacion|presentacion de (?:ofertas|proposiciones)
    recurso especial|garantia definitiva|organo de contratacion|persona de contacto
    expediente n|documento europeo unico
    # Portuguese
    caderno de encargos|codigo dos contratos publicos|entidade adjudicante
    propostas devem|prestar caucao|plataforma eletronica|concurso publico n
    # Italian
    disciplinare di gara|capitolato speciale|stazione appaltante|codice dei contratti
    responsabile (?:unico )?del pro|offerte devono|operatore economico
    cig:? [0-9a-z]{10}
    # Polish
    specyfikacj[aei] (?:istotnych )?warunkow|(?<!do )sk[lł]adania ofert|sk[lł]adac za posrednictwem
    prawo zamowien publicznych|ofert wariantowych|oferty nale|wniesc wadium
    osoba do kontaktow|podlegaja wykluczeniu|udzielenie zamowienia|oceny ofert
    # Czech and Slovak
    zadavaci dokumentac|podani nabidek|nabidky se podavaji|zakladni zpusobilost
    zadavatel si vyhrazuje|zakona? o zadavani|kontaktni osoba|sutaznych podklad
    # Dutch
    aanbestedingsstukken|aanbestedingsdocument|inschrijvingen (?:dienen|moeten)
    varianten zijn|aanbestedende dienst behoudt|via tenderned|contactpersoon
    # Romanian
    depunere a ofertelor|solicita clarificari|ofertele se depun|garantia de participare
    criteriul de atribuire
    # Swedish, Danish and Norwegian
    anbud (?:ska(?:ll)?\b|lamnas)|sista anbudsdag|upphandlingen genomfors|upphandlingsdokument
    tilbud (?:skal\b|leveres|afgives)|tilbudsfrist|udbuddet gennemføres|udbudsmaterialet
    konkurransen gjennomføres|konkurransegrunnlag
    # Finnish and Estonian
    tarjous on (?:jatettava|toimitettava|annettava|voimassa)|tarjoukset (?:tulee|on)
    tarjousten (?:tulee|jatt|vertailu|voimassa)|tarjouspyyntoasiakirj
    hanke alusdokument|pakkumuste esitamise tahtaeg|pakkumused esita|hankija jatab
    # Hungarian
    ajanlatteteli hatarido|az ajanlatok|kozbeszerzesi dokumentum
    # Slovak, Slovene and Croatian
    lehota na predkladanie ponuk|ponuky sa |rok za (?:oddajo|predlozitev) ponudb
    ponudbe se |merilo za izbor|rok za (?:dostavu|podnosenje) ponud
    ponude se |ponuditelj|kriterij za odabir
    # Latvian and Lithuanian
    piedavajum(?:u|i) iesnie|pasiulym(?:u pateik|ai teik|u vertin)|pirkimo dokumentuose
    # Greek and Bulgarian
    προσφορεσ (?:υποβαλ|κατατιθ)|κριτηριο (?:αναθεσ|κατακυρ)|προθεσμια υποβολησ|αναθετουσα αρχη
    офертите|получаване на оферти|критерии за възлагане|възложителят (?:си|не)
    # Contact lines
    (?:e-?mail|phone|telephone|telefono?|tel|tfno|fax) ?[.:]
    """
        )
        + ")"
    )


POSTAL = re.compile(r"\W*\d{1,5} [^\n]{3,80}, [a-z]{2}\.? \d{5}(?:-\d{4})?\W*\Z")
"""A line that is only a postal address of the United States."""

SUBJECT = re.compile(
    _any_of(
        r"""
    # English
    for the (?:purchase|procurement|acquisition|provision|supply|delivery)
    for the purpose of (?:pur|pro|acq)
    for the (?:construction|repair|maintenance|installation|renovation|replacement|design|following)
    (?:requirements?|need|quotations?|\(?rf[pq]\)?) (?:is )?for (?!compet|comm|propo|quot)
    (?:is|are) (?:seeking|looking for|soliciting)|intends? to (?:purchase|procure|acquire|buy)
    scope of (?:work|the contract)|statement of work|consists? of|to provide\b
    support(?:ing|s| of)\b
    # German, French, Spanish, Portuguese, Italian, Polish, Czech, Dutch
    gegenstand|lieferung|beschaffung|ausfuhrung von|erbringung|leistungen (?:der|zur|fur)
    (?:pour|a) (?:objet|la fourniture|la realisation)|porte sur|fourniture|travaux (?:de|d)
    (?:por|tiene|el) objeto|suministro|servicios? de|obras de|ejecucion de
    aquisicao|fornecimento|prestacao de|empreitada
    fornitura|affidamento|lavori di|servizio di|oggetto
    przedmiot|dostaw|us[lł]ug|robot
    predmet|dodavk|dodani|rekonstrukce|stavebni
    levering|uitvoering|opdracht (?:betreft|omvat)|onderhoud
    # Romanian, Swedish, Danish, Norwegian, Finnish, Estonian, Hungarian
    servicii de|furnizare|lucrari de|achiziti|\bavser|omfatt[ae]r|leverans|tjanster|ydelse
    upphandling av|inkop av|udbud af|indkøb af|(?:anskaffelse|kjøp) av
    \bhankinta|\bkosk(?:ee|ien)|\bkohteena|toimitus|tarnimine|teenus|targya|szallitas|beszerzes[ei]
    # Slovene, Croatian, Latvian, Lithuanian, Greek, Bulgarian
    dobava|storit|nabava|piegad|prieksmets|pakalpojum|pirkimo objekt|paslaug|tiekim
    προμηθει|παροχη|υπηρεσι|εργασι|αντικειμενο|доставк|предмет|услуг|строителств|ремонт
    """
    )
)
"""A sentence with one of these also says what is bought, whatever else it says."""
