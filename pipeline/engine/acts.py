"""The act of a purchase: whether something is supplied, built, done, repaired, installed or leased.

A code has one act, because each system separates them: the PSC by its first letter, the CPV by its
divisions. The act of a text is in its verbs, which a model of the things that are bought hears
badly: "hire of excavators" has most words in common with "excavators".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt

from pipeline.answers import System
from pipeline.engine.text.boilerplate import factored
from pipeline.engine.text.cleaning import KEPT, cleaned, readable
from pipeline.engine.text.negation import clauses

__all__ = ["Act", "act_of_code", "acts_of_text"]


class Act(IntEnum):
    """What is done for the buyer; the number is its place in the array of `acts_of_text`."""

    SUPPLY = 0
    WORKS = 1
    SERVICE = 2
    REPAIR = 3
    INSTALLATION = 4
    LEASE = 5
    RESEARCH = 6


_CODES: Mapping[System, Mapping[Act, str]] = {
    "cpv": {
        Act.SUPPLY: "0 1 2 3 4",
        Act.WORKS: "45",
        Act.SERVICE: "5 6 7 8 9",
        Act.REPAIR: """50 45212290 4523314 45233139 45236119 4523629 45246410 45259 452619
            45262330 72267""",
        Act.INSTALLATION: "51 4531 45331 4534 4535 45421",
        Act.LEASE: """455 6017 6018 60423 60424 6065 637264 64115 642141 642144 66114 702 703
            77111 77112""",
        Act.RESEARCH: "73",
    },
    "psc": {
        Act.SUPPLY: "0 1 2 3 4 5 6 7 8 9 E S11",
        Act.WORKS: "Y P4 P5",
        Act.SERVICE: "B C D F G H L M P Q R S T U V",
        Act.REPAIR: "J K Z",
        Act.INSTALLATION: "N",
        Act.LEASE: "W X",
        Act.RESEARCH: "A",
    },
    "unspsc": {
        Act.SUPPLY: "1 2 3 4 5 60 95 811125",
        Act.WORKS: "72",
        Act.SERVICE: "6 7 8 9",
        Act.REPAIR: """7210 721411 721543 731521 701717 7818 81111803 81111804 81111805 811122
            811123 81141504 8516""",
        Act.INSTALLATION: "721517 72153103 721540",
        Act.LEASE: "721417 78111808 78111809 781419 801315 801618 811124 811618",
        Act.RESEARCH: "811419 8513 931317",
    },
    "naics": {
        Act.SUPPLY: "11 21 22 31 32 33 42 44 45 513",
        Act.WORKS: "23",
        Act.SERVICE: "115 213 323 4 5 6 7 8 9",
        Act.REPAIR: "811",
        Act.INSTALLATION: "2382",
        Act.LEASE: "532 5311",
        Act.RESEARCH: "5417",
    },
}
"""The beginnings of the codes of each act; the longest that a code has decides."""


@cache
def _beginnings(system: System) -> dict[str, Act]:
    return {start: act for act, text in _CODES[system].items() for start in text.split()}


def act_of_code(system: System, code: str) -> Act:
    """Return the act of a code, as `pipeline.codes.normalized` writes it."""
    known = _beginnings(system)
    starts = (code[:end] for end in range(len(code), 0, -1))
    return next((known[start] for start in starts if start in known), Act.SERVICE)


GENERAL = "general"
"""Words such as "services", which name an act that the next words may say better."""

RENOVATION = "renovation"
"""Words of works on what exists: they mean repair as well."""

PLANNING = "planning"
"""Services about works. They decide wherever they are: "building a school, supervision"."""

IGNORED = "ignored"
"""Phrases that say nothing of what is bought, although a word of them would."""

GREEN = "green"
"""Plants and grounds: to maintain them is a service, and no repair."""

_NO_THING = """(?! (?:agents?|aids?|articles?|chemicals?|compounds?|consumables?|equipment|free
    |hangars?|kits?|machin(?:es?|ery)|materials?|parts?|products?|shops?|suppl(?:y|ies)|tools?
    |vehicles?|software|manuals?|trucks?|tape|simulators?|devices?|ammunition|rounds?|trailers?
    |monitors?|facilit(?:y|ies)|cent(?:er|re)s?|depots?)(?!\\w))""".replace("\n    ", "")
"""In English, the thing comes last: "repair kits" are no repair."""

_STEMS: Mapping[Act | str, str] = {
    Act.LEASE: r"""
    en: hire_(?!\s(?:a|an|staff|personnel|consultants?)\b) rental rentals_ rent_ renting rented_
        lease_ leases_ leasing leased_(?!\sline) charter_ charters_ chartering
    bg: наем_ наемане_ лизинг
    cs: pronajem pronajm najem_ najmu_ zapujc ~leasing
    da: leje_ udlejning ~udlejning lejemal
    de: miete_ mieten_ anmiet vermiet mietw mietg mietv mietc ~miete_ ~vermietung ~anmietung pacht
    el: ενοικιασ μισθωσ
    es: alquiler alquil arrendam arriend renta_(?=\sde) rentas_(?=\sde)
    et: rentim rendile rendi_ uurim uurile kasutusrent liising
    fi: vuokraus vuokrat_ vuokralle vuokraam vuokralaitt ~vuokraus ~vuokra_
    fr: location_(?=\W+(?:de|d|des|du|longue|avec|sans|temporaire|financiere|et|entretien)\b)
        louage affretement
    ga: leasu ligean_(?=\sar\scios)
    hr: najam_ najma_ najmu_ iznajmlj unajmlj
    hu: berlet berles berbe ~berlet_ ~berlese lizing kolcsonz
    it: noleggi nolo_ locazion affitt
    lt: nuom lizing
    lv: noma_ nomas_ nomu_ iznom ire_ ires_(?!\sm)
    mt: kiri_
    nl: huur_ huren_ verhuur ~verhuur autohuur
    pl: najem_ najmu_ najmem wynajem wynajm wynajec dzierzaw wypozycz
    pt: aluguer alugueis aluguel locacao arrendament
    ro: inchirier inchiri locatiun
    sk: prenajom prenajm najom_ najmu_ zapozic
    sl: najem_ najema_ najemo
    sv: hyra_ uthyrning forhyrning hyrbil ~hyra_ ~uthyrning
    no: leie_ utleie ~utleie leasin
    uk: оренд наим_ лізинг
    ru: аренд лизинг
    """,
    Act.REPAIR: r"""
    en: repair@ repairs_ repairing maintenance@ maintaining_ maint_ overhaul
        servicing_(?=\s(?:of|and)\b) upkeep_ sustainment_
    bg: ремонт поддръж поддържан сервизн
    cs: oprav_ oprava_ opravy_ opravu_ opravam udrzb servis_ servisu_ servisni
    da: vedligehold reparation ~vedligehold
    de: wartung instandhalt instandsetz reparatur ~wartung ~instandhaltung ~instandsetzung
        ~reparatur unterhaltung_ ~unterhaltung_ softwarepflege
    el: συντηρησ επισκευ
    es: reparac mantenim mantencion conservacion
    et: hooldus_ hoolduse hooldust hooldam remon parandus_ korrashoi ~hooldus_ ~remont
    fi: huolto korjau kunnossap yllapito kiinteistonhuolto ~korjau ~kunnossap ~yllapito
    fr: entretien_ depannage
    ga: cothabhail deisiu
    hr: odrzavanj popravak popravk
    hu: karbantart javitas szerviz ~javitas ~karbantart
    it: manutenzion riparazion
    lt: remont prieziur taisym
    lv: remon apkop_ apkope apkopes uzturesan tehniskas_(?=\sapkopes)
    mt: manutenzjoni tiswij
    nl: onderhoud reparatie herstelling ~onderhoud
    pl: napraw konserwac serwis utrzymani
    pt: reparacao reparacoes manutencao conservacao
    ro: reparat reparar reparare intretiner mentenant
    sl: vzdrzev popravil
    sv: underhall_ underhalls underhallsarb ~underhall_
    no: vedlikehold reparasjon ~vedlikehold
    uk: ремонт обслуговуван
    ru: обслуживан
    """,
    Act.INSTALLATION: r"""
    en: installation@_(?!\s(?:at|command|management|access|support|contracting)\b) installing_
        install@_
    bg: монтаж инсталиран монтиран
    cs: montaz instalace_ instalaci_ instalacia_
    da: montering opsætning ~montering
    de: montage einbau_ ~montage_ ~einbau_ ~installation_ ~montagen_
    el: εγκατασταση_ τοποθετησ
    es: instalacion_ montaje colocacion
    et: paigald ~paigald monteerim
    fi: asennu asentam ~asennu
    fr: pose_
    ga: suiteail
    hr: ugradnj postavljanj
    hu: telepites beepites beszereles felszereles_ ~telepites ~szereles_
    it: installazion posa_ montaggio
    lt: irengim montav diegim
    lv: uzstadis ierikos
    mt: installazzjoni
    nl: installatie_ installeren plaatsing plaatsen_ ~installatie_
    pl: instalowan zainstalow
    pt: instalacao_ montagem_ colocacao_
    ro: instalare montare montaj
    sl: namestit vgradnj vgradit
    no: installasjon
    uk: встановлен установлен
    ru: установк
    """,
    Act.WORKS: r"""
    en: construction@_(?!\s(?:management|supervision|inspection)) constructing_ construct_
        demolition
        works_ roadworks earthworks paving resurfac reconstruct roofing@_ dredging_ excavation_
    bg: строителств строителн смр_ изграждан строеж
    cs: stavba_ stavby_ pristavb stavebni_(?!\s(?:dozor|spol)) vystavb zateplen demolic
    da: anlægsarb nybyggeri bygning_(?=\saf) opførelse nedrivning entreprise ~entreprise ~arbejder_
    de: bauarbeit bauleist bauvorh baumass neubau umbau_ ausbau_ anbau_ errichtung abbruch ruckbau
        ~arbeiten_ ~neubau_ ~bauarbeit strassenbau tiefbau kanalbau rohbau tischlerarb erweiterung_
    el: εργασιες κατασκευη ανεγερσ ασφαλτοστρ
    es: obra_ obras_ construccion edificacion urbanizacion_ pavimentacion demolicion asfaltad
    et: ehitus_ ehitust ehitami ~ehitus_ ~ehitustood lammutam
    fi: rakentam rakennust rakennusur uudisrakenn purkutyo urakka ~urakka ~rakentam
    fr: travaux amenagement demolition terrassement
    ga: togail oibreacha
    hr: izgradnj gradnja gradnje radovi radova gradenj asfaltiran
    hu: epites epitesi kivitelez ~epites ~kivitelez
    it: lavori_ costruzion demolizion
        realizzazione_(?=\s(?:di|del|della|dell|dei)\s(?:nuov|oper|impia))
    lt: statybos_ statyba_ rekonstr darbai_ darbu_
    lv: buvniecib buvdarb izbuv parbuv
    mt: kostruzzjoni xoghlijiet
    nl: bouw_ nieuwbouw aanleg_ aanleggen sloop_ sloopw werken_ ~werken_ wegenwerk
    pl: budow przebudow rozbudow roboty_ robot_(?=\s\w+lan) termomodern
    pt: obra_ obras_ construcao empreitada pavimentacao demolicao requalificacao edificacao
    ro: lucrari_ lucrarilor constructi construire
    sk: vystavb stavebn
    sl: gradnj izgradnj gradben
    sv: byggnation nybyggnad ombyggnad tillbyggnad rivning byggentrep anläggning_(?=\sav)
        ~entreprenad
    no: bygging_ nybygg ombygging anleggsarb riving
    uk: будівництв реконструкц
    ru: строительств реконструкц
    """,
    RENOVATION: r"""
    en: renovation renovat refurbish rehabilitation_(?!\s(?:services?|centers?|therapy))
        restoration_
    bg: рехабилитац саниран
    cs: rekonstruk
    de: sanierung erneuerung_ ~sanierung modernisierung_ renovierung
    el: αποκαταστασ ανακαινισ
    es: rehabilitacion_ reforma_ reformas_ restauracion_(?=\sdel?\s) renovacion_
    et: renoveeri rekonstrueer
    fi: peruskorjau saneerau
    fr: refection renovation
    hr: sanacij obnov
    hu: felujit ~felujit
    it: ristrutturazion restauro_ riqualificazion
    nl: renovatie herstelwerk
    pl: modernizac
    pt: reabilitacao remodelacao_ reforma_ beneficiacao
    ro: reabilitar modernizar renovar
    da: renovering ombygning istandsæt ~renovering
    sv: renovering
    """,
    Act.SUPPLY: r"""
    en: supply_(?!\s(?:chain|ship|vessel|system|support)) supplying_ supplies_ spares_
        purchase_(?=\sof)
        purchasing_(?=\sof) parts_ acquisition_(?=\sof) consumables_ spare_(?=\sparts?)
    bg: доставк доставян закупув
    cs: dodavk nakup_ nakupu_ dodan_ dodani porizeni
    da: indkøb_(?=\saf) køb_(?=\saf) levering_ ~levering_
    de: lieferung ~lieferung_ beschaffung ~beschaffung_ kauf_ ankauf_ ersatzteil anschaffung_
    el: προμηθει υλικων_ υλικα_ ανταλλακτικ
    es: suministr adquisicion compra_ compras_ repuestos_ recambios_ material_ materiales_
        productos_
    et: ostmin tarnim hankim_ hankimi
    fi: toimitus_ toimitukset varaosa
    fr: fourniture achat_ achats_ acquisition_(?=\sd) livraison materiel_ materiels_ materiaux_
        produits_ pieces_
    ga: solathar
    hr: nabav isporuk
    hu: beszerz szallitasa vasarl ~beszerz
    it: fornitur acquist ricambi_ materiali_ materiale_ prodotti_ approvvigion
    lt: pirkimas_ isigij tiekim
    lv: iegad piegad pirksan
    mt: provvista xiri_ forniment
    nl: levering leveren_ aankoop_ inkoop_
    pl: dostaw zakup dostarcz czesci_ sprzedaz_
    pt: aquisicao fornecim compra_ pecas_ materiais_ material_
    ro: achizit furnizar piese_ livrar
    sk: dodanie_
    sl: dobav nabav
    sv: leverans inkop(?!ss) kop_(?=\sav)
    no: innkjøp kjøp_ leveranse ~leveranse
    uk: закупівл постачан придбан поставк
    ru: поставк закупк приобретен
    """,
    Act.RESEARCH: r"""
    en:
        research_(?!\s(?:laborator|vessel|building|facilit|ship|cent|resource|subscr|station|platform))
        sbir_ sttr_ baa_ experimentation_ r&d_
    de: forschung_ forschungsv forschungsproj
    fr: recherche_(?!\s(?:de|d|et)\s(?:fuites|amiante|plomb))
    es: investigacion_ pt: investigacao_ it: ricerca_
    pl: badawcz badania_(?=\snaukow) cs: vyzkum hr: istrazivanj sl: raziskav
    nl: onderzoek_(?=\snaar) da: forskning sv: forskning no: forskning fi: tutkimus ~tutkimus
    et: teadus uuring_ uuringu hu: kutatas ro: cercetar el: ερευν
    lv: petijum uk: дослідження ru: исследован mt: ricerka ga: taighde
    """,
    Act.SERVICE: r"""
    en: consulting consultanc consultant advisory cleaning@ training@ insurance_ audit_ audits_
        auditing_ catering_ janitorial translation_ transportation@_ transport@_ recruitment_
        surveillance_ labour·hire landscaping_ mowing_ assessment_ feasibility_ studies_ study_
        evaluation_ labor·hire disposal_ waste·collection testing@_ inspection_ planning_
        design_(?!\W+(?:and\W+)?(?:bid|build|constr|manufact|cage|control))
    bg: консулт почистван обучен застрахов охран изготвян събиран
    cs: uklid pojist skolen poraden zpracovani_ svoz_ ostrah
    da: rådgivning rengøring uddannelse forsikring undersøgelse ~rådgivning ~rengøring
    de: beratung reinigung schulung versicherung ~beratung ~reinigung_ entsorgung
        ~entsorgung_ bewachung uberwachung_ gutachten studie_
        beforderung durchfuhrung_ wachdienst winterdienst erstellung_ betreuung_ uberprufung_
    el: καθαρισμ ασφαλισ εκπαιδευσ συμβουλ μελετη φυλαξ
    es: limpieza consultor asesor formacion seguro_ seguros_ vigilancia estudio_
        asistencia_ recogida_ transporte_ elaboracion_ impartic diseno_ impresion_ gestion_
        organizacion_ auditor
    et: koristus koolitus kindlustus noustam projekteerim(?!\w*\W+(?:ja\s)?ehit) jarelevalve
    fi: siivous koulutus vakuutus konsult ~siivous ~koulutus
    fr: nettoyage formation_(?=\s(?:d|de|du|des|au|aux|en|professionn)) assurance assistance_ etude_
        etudes_ conseil_ gardiennage collecte_ mission_(?=\s(?:d|de|du)\b) missions_(?=\sd)
        accompagnement_ realisation_(?=\sd.{1,3}etude) traitement_ restauration_ mandat_
        diagnostics_ elaboration_
    hr: ciscenj osiguranj savjetov izrad
    hu: takarit biztosit tanacsad oktatas orzes ~takarit
    it: pulizia pulizie formazion assicur consulen vigilanza ristorazion
        redazione_ gestione_ raccolta_ trasport incarico_ assistenza_ verifica_
    lt: valym draudim mokym konsult apsaugos_(?=\spasl)
    lv: uzkops apdros apmac konsult apsardz
    nl: schoonmaak opleiding verzekering advies_ schoonmaken ~schoonmaak studieopdracht
        begeleiding_ inhuur_ vervoer_ leerlingenvervoer
    pl: sprzatan ubezpieczen szkolen szkoln doradz opracowan ochron wywoz odbior organizacj odsniez
    pt: limpeza formacao seguro_ seguros_ consultor assessor elaboracao vigilancia
        transporte_ estudo_ recolha_ gestao_
    ro: curaten asigurar consultant formare_ paza_ elaborar
    sk: upratov poisten skolen poraden
    sl: ciscenj zavarovan svetov usposablj varovanj izdelav
    sv: stadtjanst stadning utbildning konsult forsakring ~konsult
    no: rengjøring renhold forsikring rådgivning konsulent opplæring ~renhold
    uk: прибиран страхуван навчан охорон консульт
    ru: уборк страхован обучен охран
    """,
    PLANNING: r"""
    en: supervision_ architectural_ engineering·services
    bg: надзор проектиран
    cs: dozor projektov technicka·pomoc technicke·pomoci
    de: planung ~planung_ ~planungen_ objektplanung ingenieurl architekt bauuberwach ~wettbewerb_
    es: redaccion direccion_(?=\s(?:de|facult|tecn)) coordinacion_(?=\sde\sseg)
    fi: suunnittelu ~suunnittelu
    fr: maitrise_ mandataire_
    hr: nadzor projektir hu: tervez ~tervezes tervpalyaz it: progettazion direzione_ ingegneria_
    lt: projektav projekto_(?=\s\w*reng) technin_(?=\spriez) techninės·prieziur lv: projektes
    nl: ontwerp_ pl: projektow nadzor pt: fiscalizacao projetos_ ro: proiectar dirigent
    sv: projektering no: prosjekter uk: проектуван ru: проектирован
    """,
    IGNORED: r"""
    market·research market·consultation presente·consultation consulta·previa rinkos·konsultac
    consultazione·preliminare research·group naval·research dynamic·purchasing dynamiskt·inkop
    dynamisk·indkøb dynamisk·innkjøp dynamisch·aankoop dinamine·pirkim dinaminę·pirkim
    dinaminės·pirkim dynamicky·nakup dynamickeho·nakup acquisition·dynamique adquisicion·dinamic
    dynamiczn·system·zakup inspection·and·acceptance inspection/acceptance inspection·of·supplies
    far·overhaul time·&·material time·and·material in·repair/modification from/repaired
    """,
    GENERAL: r"""
    en: service_(?!\s(?:life|station|vehicle|member|bulletin|pistol|manual)) services_
    bg: услуг cs: sluzb da: ~ydelse_ ~ydelser_ ydelser_ de: dienstleist ~dienstleist
    el: υπηρεσι es: servicio et: teenus ~teenus fi: palvelu ~palvelu fr: prestation
    hr: uslug hu: szolgaltat ~szolgaltat it: servizi servizio_ lt: paslaug lv: pakalpojum
    nl: dienst_ diensten_ dienstverl ~diensten_ pl: uslug pt: servico_ servicos_ prestacao_
    ro: servicii serviciilor sl: storitev sv: tjanst ~tjanst no: tjeneste uk: послуг ru: услуг
    ga: seirbhis mt: servizzi
    """,
    GREEN: r"""
    ground_ grounds_ park_ parks_ lawn winter_ snow_ garden_ gardens_ gardening landscape tree_
        trees_ vegetation
    grunflach grunanlag baum geholz espaces_(?=\sverts) arbres_ jardin pelous zonas_(?=\sverdes)
    arbolad areas_(?=\sverdes) verde_ verdi_ zielen zeleň zelene greenery groen_ groenv plantsoen
    espacos_(?=\sverdes) jardins_ spatii_(?=\sverzi) spatiilor_(?=\sverzi) haljast viheral gront_
    """,
}
"""Words of each act, by language. A word begins so, or after `~` has it inside (Aufzugswartung).
`_` ends the word, `·` is a space, `@` is followed by no thing (`_NO_THING`), and an expression in
brackets says what else follows. Of two that match, the longer one counts."""

_WORK_ON: Mapping[Act | str, tuple[Act, ...]] = {
    RENOVATION: (Act.WORKS, Act.REPAIR),
    PLANNING: (Act.SERVICE,),
    **{act: (act,) for act in Act},
}

_NEGATIONS = frozenset(
    readable(
        "no not without ohne keine sans sin sem senza bez zonder uden utan uten fara без χωρις"
        " nelkul ilman ilma nie ne nem inte ikke non excl exkl hors keinerlei"
    ).split()
)
"""A word after one of these says what is not bought."""

_AND = frozenset(readable("and & / und et y e ed og och en a i ja es ir un si и και та").split())
"""An installation after one of these belongs to what is before it."""

READ = 600
"""Characters of a text in which acts are looked for: what follows does not say what is bought."""

HALF = 120
"""Characters after which a word counts half as much as at the beginning."""

NEXT = 0.6
"""What each further act counts: "supply and maintenance" is a supply first."""

JOINED = 60
"""Characters between a supply and its installation, which then belongs to the supply."""

ALONE = 0.8
"""What "services" counts in a text without a word of another act."""

BELONGS = 0.3
"""What such an installation counts, or the purchase in "purchase of services"."""


@cache
def _pattern() -> tuple[re.Pattern[str], Mapping[str, Act | str]]:
    """Return the pattern of all words, and the kind of each that it finds."""
    kinds: dict[str, Act | str] = {}
    begin: list[str] = []
    inside: list[str] = []
    for kind, text in _STEMS.items():
        for stem in (each for each in text.split() if not each.endswith(":")):
            literal, expression = _compiled(stem.lstrip("~"))
            kinds.setdefault(literal, kind)
            (inside if stem[0] == "~" else begin).append(expression)
    for some in (begin, inside):
        some.sort(key=lambda expression: len(expression.split("(?")[0]), reverse=True)
    return re.compile(rf"(?<!\w)(?:{factored(begin)})|(?:{factored(inside)})"), kinds


def _compiled(stem: str) -> tuple[str, str]:
    """Return what a stem of `_STEMS` matches, and its regular expression."""
    word = re.split(r"[_@(]", stem)[0]
    literal, context = readable(word.replace("·", " ")), stem[len(word) :]
    marks, bracket, rest = context.partition("(")
    end = r"(?!\w)" if "_" in marks else ""
    return literal, re.escape(literal) + end + _NO_THING * ("@" in marks) + bracket + rest


@lru_cache(maxsize=KEPT)
def acts_of_text(text: str) -> npt.NDArray[np.float32]:
    """Return how strongly a text names each act, from 0 to 1, in the order of `Act`.

    All are 0 for a text without a word of any act, such as "excavators". What is excluded or
    negated does not count, and "supply and installation" is a supply.
    """
    strengths = np.zeros(len(Act), np.float32)
    wanted = cleaned(text)[:READ]
    mentions = [*_mentions("".join(" " * len(s) if out else s for s, out in clauses(wanted)))]
    general = [at for at, kind, _ in mentions if kind == GENERAL]
    green = [at for at, kind, _ in mentions if kind == GREEN]
    supplied = [at for at, kind, _ in mentions if kind == Act.SUPPLY]
    seen: set[Act] = set()
    for at, kind, joined in mentions:
        first, following = HALF / (HALF + at), NEXT ** len(seen)
        if kind == GENERAL:
            strengths[Act.SERVICE] = max(strengths[Act.SERVICE], BELONGS * first)
        elif kind == PLANNING:
            strengths[[Act.WORKS, Act.REPAIR, Act.INSTALLATION]] *= NEXT
        for act in _WORK_ON.get(kind, ()):
            if act == Act.REPAIR and _near(at, green, JOINED):
                act = Act.SERVICE
            if act == Act.SUPPLY and _near(at, general, JOINED / 2):
                strengths[Act.SERVICE] = max(strengths[Act.SERVICE], NEXT * first)
                strengths[act] = max(strengths[act], BELONGS * first)
                continue
            decides = act in seen or act == Act.LEASE or kind == PLANNING
            weight = first if decides else following * first
            if act == Act.INSTALLATION and (joined or _near(at, supplied, JOINED)):
                weight *= BELONGS
            strengths[act] = max(strengths[act], weight)
            seen.add(act)
    if general and not seen:  # "legal services"
        strengths[Act.SERVICE] = max(strengths[Act.SERVICE], ALONE * HALF / (HALF + general[0]))
    if strengths[Act.LEASE]:
        strengths[Act.SUPPLY] *= BELONGS  # "supply by way of hire"
    strengths.flags.writeable = False  # it is cached
    return strengths


def _near(at: int, places: Iterable[int], reach: float) -> bool:
    return any(abs(at - place) < reach for place in places)


def _mentions(text: str) -> Iterator[tuple[int, Act | str, bool]]:
    """Yield where each word is, its kind, and whether it follows an "and"."""
    pattern, kinds = _pattern()
    for found in pattern.finditer(text):
        before = text[max(0, found.start() - 12) : found.start()].split()
        if not (before and before[-1] in _NEGATIONS):
            yield found.start(), kinds[found[0]], bool(before and before[-1] in _AND)
