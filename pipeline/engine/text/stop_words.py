"""Words that never explain a code: function words, numerals, units of measurement."""

from __future__ import annotations

from pipeline.engine.text.bidding_words import SUPPORT

__all__ = ["says_nothing"]

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
