"""The words of a text, as the titles of codes are compared with it."""

from __future__ import annotations

import re

from pipeline.engine.text.cleaning import readable

__all__ = ["BUYING_WORDS", "split_words", "words"]


MAX_WORDS = 400
"""Words of a text that are read: a long notice begins with what is bought, the rest is terms."""

WORD = re.compile(r"[^\W\d_]{2,60}")


def words(text: str) -> list[str]:
    """Return the words of a text: letters only, without case, accents, HTML and addresses."""
    return split_words(readable(text))


def split_words(text: str) -> list[str]:
    """Return the words of a text that `readable` or `cleaned` returned."""
    return WORD.findall(text)[:MAX_WORDS]


_BY_LANGUAGE = {
    "en": """
        acquisition acquire agreement award awarded bid bidder bidders buy buying combined contract
        contracting contractor contractors contracts deliver delivered delivery framework invitation
        invite lot lots notice offer offers offeror offerors procure procurement procuring proposal
        proposals provide provided provider providing provision purchase purchased purchasing
        quotation quotations quote quotes request requests require required requirement requirements
        requires rfp rfq shall solicitation sole source submit submission supplied supplier
        suppliers supply supplying synopsis tender tenderer tenderers tendering tenders vendor
        """,
    "de": """
        abschluss anschaffung auftrag auftraggeber auftragnehmer ausschreibung beauftragung bedarf
        beschaffung bieter erbringung erwerb gegenstand kauf lieferung lieferungen los lose
        rahmenvereinbarung rahmenvertrag vergabe vertrag
        """,
    "fr": """
        accord achat acquisition attribution cadre commande commandes consultation fourniture
        fournitures livraison lot lots marche marches objet offre passation prestataire prestation
        prestations titulaire
        """,
    "es": """
        acuerdo adjudicacion adquisicion adquisiciones compra contratacion contrato expediente
        licitacion lote lotes marco objeto prestacion suministro suministros
        """,
    "pt": """
        acordo ajuste aquisicao concurso contratacao contrato direto fornecimento lote prestacao
        quadro
        """,
    "it": """
        accordo acquisto affidamento appalto aggiudicazione fornitura forniture gara lotto procedura
        quadro
        """,
    "pl": """
        dostawa dostawy dostarczenie przetarg ramowa realizacja sukcesywna sukcesywne umowa
        udzielenie wykonanie wykonawca zakup zakupu zamowienia zamowienie
        """,
    "nl": """
        aanbesteding aankoop inkoop leveren levering opdracht overeenkomst perceel raamovereenkomst
        """,
    "cs": "dodavka dodavky dodani koupe nakup porizeni ramcova smlouva verejna zakazka",
    "sk": "dodanie dodavka kupa nakup obstaranie obstaravanie ramcova zabezpecenie zakazka zmluva",
    "ro": "achizitia achizitie achizitionarea acord contract furnizare furnizarea licitatie lotul",
    "bg": "възлагане договор доставка доставки закупуване изпълнение обществена поръчка",
    "el": "αναθεση διαγωνισμος παροχη προμηθεια συμβαση συμφωνια",
    "hr": "dobava isporuka nabava nabave okvirni predmet sporazum ugovor",
    "sl": "dobava izvedba javno nakup narocilo okvirni sporazum",
    "hu": "beszerzes beszerzese keretszerzodes kozbeszerzes szallitas szallitasa vasarlas",
    "sv": "anskaffning avtal inkop kop leverans ramavtal upphandling",
    "da": "anskaffelse indkob kob levering rammeaftale udbud",
    "fi": "hankinta hankinnat puitesopimus sopimus toimitus",
    "et": "hange hankimine leping ost ostmine raamleping tarnimine",
    "lv": "iegade iepirkums ligums piegade",
    "lt": "isigijimas pirkimas preliminarioji pirkimo sutartis tiekimas",
}

BUYING_WORDS = frozenset(word for text in _BY_LANGUAGE.values() for word in words(text))
"""In the form that `words` returns, in the languages of the CPV titles."""
