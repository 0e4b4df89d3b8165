"""The words of bidding and awarding, and function words, in nine languages.

They are written as `pipeline.engine.text.cleaning` reads texts: without case and accents.
"""

from __future__ import annotations

__all__ = ["PROCEDURE", "SUPPORT"]


def _words(lines: str) -> frozenset[str]:
    """Return the words of some lines, without the languages' names, which end in a colon."""
    return frozenset(word for word in lines.split() if not word.endswith(":"))


PROCEDURE = _words(
    """
    English:
      acceptable accordance acquisition addendum additional agency amendment amendments
      announcement applicable apply award awarded awards basis best bid bidder bidders bids
      buyer capability capable certifications clause clauses closing commercial competition
      competitive completed compliance comply conditions conforming considered construed
      contract contracting contractor contractors contracts contractual copies date days
      deadline determination determined determines dfars discussions disputes documents due
      effect electronic electronically eligible email evaluated evaluation executive fair far
      federal final fixed force form format government governmentwide hours incorporated
      information instructions intends intent interest interested invoice invoices issued item
      items late laws local lowest market negotiate notice notices offer offeror offerors offers
      official orders part participate participation parties pay payment performance period
      point policy posted price prices prior procedure procedures procurement products proposal
      proposals provision provisions published purchase purposes qualified questions quotation
      quotations quote quoter quotes receipt received reference registered registration
      regulation regulations representations request requested requests required requirements
      requires reserves resolved respond respondents response responses responsibility
      responsible responsive right rights rule section selection set signed site size small
      solely solicit solicitation source sources standard state statutes subject submission
      submissions submit submitted subpart supplemented supplier suppliers synopsis technical
      technically tender tenderer tenderers tenders terms time timely vendor vendors website
    German:
      abgabe ablauf abschluss anforderungen angabe angaben angebot angebote angebots anlage
      antrag auftrag auftrage auftraggeber auftrags ausgeschlossen ausschluss behalt
      bekanntmachung bewerber bewertung bieter bietergemeinschaften bietern download eignung
      einreichen einzureichen elektronisch erteilt fehlende form formlos formular fragen frist
      gesetz kriterien los lose losen nachweis nachweise nachzufordern nahere offentlicher preis
      recht spatestens tage teilnahme textform uhr unentgeltlich unterlagen unternehmen
      verfahren vergabe vergabestelle verlangen vertrag vertrags vorliegen vorzulegen
      wirtschaftlichste zuschlag zustandigen
    French:
      accord acheteur adjudicateur administratif allotissement appel application appui article
      articles attribution autorisees bons cadre candidat candidats candidature candidatures
      clauses code commande commandes competent conditions consultation contrat criteres
      criteria date delai delais dossier dument duree electronique enonces entreprise
      entreprises formulaires heures introduits jours jugees limite lot lots marche marches
      montant offre offres passe passee pli plis pouvoir prix procedure produit publics publique
      reception reconduction recours reglement remise reserve reservee soumissionnaire suite
      telechargeable tranche transmettre validite voie
    Spanish:
      adjudicacion adjudicador adjudicara adjudicatario administrativas anuncio bases calidad
      clausulas concurso condiciones constituir contratacion contrato contratos criterios dias
      documentacion documento empresa empresas expediente fecha final garantia horas importe
      interponerse legal ley licitacion licitador licitadores lote lotes mejor oferta ofertado
      ofertas organo particulares plataforma plazo pliego pliegos precio prescripciones
      presentacion presentar presentaran procedimiento proposiciones publico recurso relacion
      requisitos sector solvencia tecnicas valor
    Portuguese:
      adjudicante adjudicatario artigo caderno caucao concorrente concorrentes concurso
      contratos contratuais contratual cumpram data encargos entidade excluir fixado prazo preco
      procedimento programa proposta propostas publicos rege requisitos telefone termo termos
    Italian:
      aggiudicatario aggiudicazione appaltante appalto capitolato codice contratti contratto
      disciplinare domanda economico gara generale importo indicato iva lotti lotto offerente
      offerta offerte operatore operatori ordine partecipazione piattaforma possedere presentate
      procedere procedura requisiti ribasso riserva speciale stazione telematica termine
    Polish:
      cena ceny czesc czesci godz kryteria kryteriow najkorzystniejsza ofert oferta oferty
      podlegaja podstawie postepowania postepowanie publicznych siwz składania swz szczegołowe
      termin trybie ubiegac udzielenie umowa umowy ustawy wadium wariantowych warunki warunkow
      wniesc wybierze wykluczeniu wykonawca wykonawcow wykonawcy załacznik zamawiajacego
      zamawiajacy zamowien zamowienia
    Czech:
      cast casti cena ceny dodavatel dodavatele dokumentace dokumentaci hodin hodnoceni
      kvalifikace lhuta nabidek nabidka nabidky podani podminky podrobnosti prokazuje smlouva
      smlouvy splneni uchazec uvedeny verejne verejnych vyhrazuje zadavaci zadavatel zakazek
      zakazka zakazky zakona zpusobilosti
    Dutch:
      aanbestedende aanbesteding aanbestedings contract criteria dagen datum dienst documenten
      eisen gegadigden gunning gunningscriteria indienen informatie ingediend inlichtingen
      inschrijver inschrijvers inschrijving inschrijvingen leidraad meer opdrachtgever perceel
      percelen prijs procedure recht sluitingsdatum toegestaan uiterlijk varianten voorbehoudt
      voorwaarden vragen
    """
)
"""A sentence of little else says how to bid, not what is bought."""

SUPPORT = _words(
    """
    English:
      a all also an and any are as at be been by can do does each either every following for
      from full given has have here hereby herein if in into is it its may more must no not of
      on only or other otherwise per same shall should such than that the their then there
      therefore these this those through to under unless until up upon was were which who whose
      will with within without
    German:
      als am an auch auf aus bei bis das dem den der des die durch ein eine einem einer eines
      fur im in ist kann konnen mit mussen nach nicht oder sich sind uber und von vor werden
      wird zu zum zur
    French:
      a au aux ce ces cette d dans de des dont du elle en est et il l la le les leur leurs n ne
      ou par pas pour que qui s sa se sera seront ses son sont sur un une
    Spanish:
      al con debera deberan del el es las lo los no o para podra por que se son su sus una uno
      unos y
    Portuguese:
      ao aos as com da das deve devem do dos e na nao nas no nos os pela pelo que um uma
    Italian:
      al alla che con dal dalla dei del della delle di e ed gli i il lo nel nella non per si
    Polish:
      dla do i jest ktore ktorzy lub na nalezy nie o od oraz po przed przez sa w z za
    Czech:
      a do i je jsou na nebo od podle pro s se si v ve za ze
    Dutch:
      aan de dienen dient een en het in is met niet of op te ten ter van via voor worden wordt
      zijn
    """
)
"""Function words; they do not count when a sentence is judged."""
