"""Words that say nothing of what is bought: function words, numerals, units, bidding words."""

from __future__ import annotations

__all__ = ["PROCEDURE", "SUPPORT", "says_nothing"]


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


_MORE = """
    English:
      about above after again along around because before below between both but could does
      during he her him his how just like many me much my nor off our out over own she so
      some still them they too very was we well what when where while why would yet you your
      one two three four five six seven eight nine ten first second third new
    German:
      aber alle als ans beim bzw dass dazu diese dieser dieses eines gegen ihre ihrer ins ist
      jede jeder man mehr noch nur ob ohne sein seine seiner sie so sowie sondern statt um
      unter vom war wenn wie wir wurde ein zwei drei vier funf neu neue neuen neuer
    French:
      afin ainsi apres aussi avant avec cet chaque comme dans entre ils leurs mais meme nous
      on ou plus sans selon si sous tous tout toute toutes tres vers vous un deux trois
      quatre cinq nouveau nouveaux nouvelle nouvelles
    Spanish:
      ante asi cada como cual cuando desde donde durante entre esta este esto estos ha hasta
      le les mas mediante muy nos pero porque segun ser si sin sobre tambien todo todos tras
      dos tres cuatro cinco nuevo nueva nuevos nuevas
    Portuguese:
      ate cada como desde em entre essa esse esta este foi ja mais mas mesmo ou para pelos
      pelas por qual quando se sem ser seu seus sobre sua suas tambem todos dois duas tres
      novo nova
    Italian:
      agli alle alla anche allo come cui dai dalle degli dello fra gli ha ma nei nelle nello
      nostro ogni piu quale quali questa questo se senza sia sono su sua sugli sui sul sulla
      suo tra un una uno due tre quattro nuovo nuova nuovi nuove
    Polish:
      ani by byc co czy dla gdy go ich jak jako jego jej jest juz kazdy ku nad niz oraz pod
      poprzez przy sie sa ta tak te tego tej ten to tych tym we wraz ze jeden dwa trzy
    Czech, Slovak, Slovenian, Croatian:
      aby ako ali alebo bez bi bo by co iz izmedu iza jak jako je jeho jej jen jsme ke kde ki
      kod ktere ktera ktery ktory ktore kako le med mezi mimo mu nad naj ni niz oba ob oproti
      po pod pokud pre pred pri prostrednictvim sa sam se si sme so sta su ta tak taky tam te
      ten teto tim to toho tohoto tu uz vcetne vse za zbog ze zo
    Dutch:
      als bij binnen dan dat deze die door dit geen hun ik je kan maar mag naar nog of om ook
      over tot tussen uit uw wat we wel werd wij ze zich zij zonder zo
    Danish, Swedish, Norwegian:
      af alle att av blev bliver ble da den denne deres det dette du efter ej eller en er ett
      fra for fran han har hos hun hvor ikke inte inom jeg kan mellan mellem med mot mod nar
      och og om op pa samt ska skal som til under uppa ut var ved vid vil
    Finnish, Estonian:
      ei eika eli ett etta ehk ega ele ennen ilman ja joka jonka jotka ka kanssa kui kuin kuid
      kun mukaan myos nende ning oli olla on ovat poolt seka see selle siis sen tai voi voib
      vai
    Latvian, Lithuanian:
      apie ar arba be bei bet bez buti del din gan iki ir is ja ka kad kaip kas ko kuri kurie
      lai lidz no nuo pa pagal par per po pie prie su tai tas tiek tik un uz vai var yra
    Hungarian:
      az azok csak de egy es ez ezek hogy illetve is kell lesz meg mely mint nem ott pedig
      szerint tovabba vagy van valamint vele volt
    Romanian:
      al asupra aceasta acest care cat catre ce cu cum daca de decat din dintre dupa este fara
      fi fie in intre la lui mai nu ori pe pentru prin sa sau se si sunt un unei unor unui
    Bulgarian:
      без бъде във до за или из като който която което които към между на над не но от
      по под при след със съм то този тази че
    Greek:
      απο αυτη αυτο δεν ειναι εν επι θα και κατα με μεσω μη οπως οτι προς σε στα
      στη στην στις στο στον στους τα τη την της τις το τον του τους των υπο ως
    Irish, Maltese:
      ag agus ach an ar as don faoi fhaoi gan go ina is le leis na no sa san seo sin tri ta
      dan fi fil fl fuq għal għall għar ghal ghall ghar il ir kif li ma minn tal tat
    units:
      kg kgs mg cm mm km dm nm ml cl dl hl kl kv kw kwh mw mwh gwh hz khz mhz ghz kb mb gb lb
      lbs oz ft sq sqm pcs pce qty ea yrs yr hrs mins min approx etc incl inc no nos nr st nd
      rd th stk szt ks kpl buc
    """
"""Function words beyond those of `SUPPORT`, without case and accents, in the languages of the CPV.

Words that are also the name of something that is bought are left out, such as IT and *most*, Polish
for bridge."""

_STOP_WORDS = SUPPORT - {"it"} | {word for word in _MORE.split() if not word.endswith((":", ","))}


def says_nothing(word: str) -> bool:
    """Return whether a word cannot explain a code: a stop word, a number or a bare letter.

    A NATO stock number can: it begins with the supply class.
    """
    return len(word) == 1 or word in _STOP_WORDS or (word.isdigit() and len(word) <= 4)
