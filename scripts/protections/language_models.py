"""Language models are paid for as planned, and choose among candidates alone."""

from __future__ import annotations

from .protection import Protection

PROTECTIONS = (
    Protection(
        "a model that refuses has been paid for reading",
        "    if isinstance(ended, Refused) and price.cost is None:\n",
        "    if False:\n",
        "tests/paid/client/test_chat_responses.py::test_a_model_that_refuses_has_been_paid",
    ),
    Protection(
        "an answer costs what its tokens cost when it was bought",
        "price = read_usage(content, asked.token_prices)",
        "price = read_usage(content, type(asked.token_prices)(ZERO, ZERO))",
        "tests/paid/client/test_chat_responses.py::test_the_price_is_that_of_the_tokens",
    ),
    Protection(
        "a number of tokens that cannot be right is no price",
        "tokens = whole_number(value, 0, MOST_TOKENS)",
        "tokens = whole_number(value, -(10**9), 10**9)",
        "tests/paid/client/test_chat_responses.py::test_a_wrong_number_of_tokens_is_a_price_that_cannot_be_used",
    ),
    Protection(
        "a number that cannot be compared ends no run",
        "if not isinstance(value, Decimal) or not value.is_finite():",
        "if not isinstance(value, Decimal):",
        "tests/paid/client/test_chat_responses.py::test_a_response_means",
    ),
    Protection(
        "tokens of reasoning are paid for, wherever they are counted",
        "max(written or 0, (both or 0) - read)",
        "written or 0",
        "tests/paid/client/test_chat_responses.py::test_the_price_is_that_of_the_tokens",
    ),
    Protection(
        "a limit of a day holds for all language models at an address",
        "AT_ADDRESS = \"substr(endpoint || '#', 1, ?) = ?\"",
        "AT_ADDRESS = \"? AND endpoint || '#' = ?\"",
        "tests/paid/test_language_models.py::test_two_models_at_one_address_share_the_days_limit_and_no_answers",
    ),
    Protection(
        "one buyer for all language models at an address",
        "address, key, wait = self._ledger.address,",
        "address, key, wait = self._ledger.base_url,",
        "tests/paid/test_language_models.py::test_one_model_at_an_address_is_bought_from_at_a_time",
    ),
    Protection(
        "no code but a candidate is ever returned",
        "chosen = by_name.get(name.upper())",
        'chosen = by_name.get(name.upper(), Match(name, "", 1.0))',
        "tests/paid/client/test_chat_responses.py::test_no_code_but_a_candidate_is_ever_returned",
    ),
    Protection(
        "a language model that is too dear is refused before anything is sent",
        "            chat.check_price(self.max_price)\n",
        "            pass\n",
        "tests/paid/test_language_models.py::test_a_model_that_is_too_dear_is_refused_before_anything_is_sent",
    ),
    Protection(
        "a call of a language model reserves what it may cost",
        "            service.typical_prices[1],\n",
        "",
        "tests/paid/test_language_models.py::test_a_cap_below_what_one_call_may_cost_sends_nothing",
    ),
    Protection(
        "a call for which nothing was sent does not show that the key is right",
        " and end.status != 204:",
        "  :",
        "tests/paid/test_language_models.py::test_a_text_without_candidates_is_not_sent_and_proves_nothing",
    ),
    Protection(
        "fields of a request that would change its price or its answer stay ours",
        'OURS = ("messages", "model", "n", "stream")',
        "OURS = ()",
        "tests/paid/client/test_protocols.py::test_wrong_fields_are_refused",
    ),
    Protection(
        "no key goes out that its owner named for something else",
        "if value is None and (value := os.environ.get(KEY_VARIABLE)) is None:",
        'if value is None and (value := os.environ.get("OPENAI_API_KEY")) is None:',
        "tests/paid/test_language_models.py::test_only_the_key_that_was_named_for_it_is_sent",
    ),
)
