"""What comes over the network does no harm, and the key stays secret."""

from __future__ import annotations

from .protection import Protection

PROTECTIONS = (
    # What comes over the network.
    Protection(
        "no response is read on a connection of an earlier request",
        "connection = await self._connect()",
        "connection = self.__dict__.get('kept') or await self._connect()\n"
        "        self.kept, connection.close = connection, lambda: None",
        "tests/paid/client/test_lost_answers.py::"
        "test_no_stream_however_cut_and_joined_gives_a_text_the_answer_to_another",
    ),
    Protection(
        "a proxy on the way to https sees neither key nor text",
        'elif self._service.scheme == "https":',
        "elif False:",
        "tests/paid/client/test_transport.py::"
        "test_a_proxy_on_the_way_to_https_sees_neither_key_nor_text",
    ),
    Protection(
        "a service does not see the password of the proxy on the way to it",
        "_for_proxy(self._proxy), self._tls())\n"
        "                await connection.send(exchange, most, exchange.url.raw_path)",
        "[], self._tls())\n                await connection.send("
        "exchange, most, exchange.url.raw_path, _for_proxy(self._proxy))",
        "tests/paid/client/test_transport.py::"
        "test_a_proxy_on_the_way_to_https_sees_neither_key_nor_text",
    ),
    Protection(
        "line feeds without carriage returns do not lose a response",
        "        self._parser.set_dangerous_leniencies(**LENIENT)\n",
        "",
        "tests/paid/client/test_transport.py::test_a_complete_response_is_read_and_its_connection_closed",
    ),
    Protection(
        "an error of one worker does not cancel the calls of others",
        "except Exception as error:  # whichever it is, it must not cancel calls that are billed",
        "except PipelineError as error:",
        "tests/paid/test_pool.py::test_an_error_of_one_worker_does_not_lose_the_answers_of_others",
    ),
    Protection(
        "no more than so much of a body is read",
        "if exchange.status is not None and len(exchange.body) > self._most:",
        "if False:",
        "tests/paid/client/test_client.py::test_a_huge_body_is_cut_off_and_its_connection_closed",
    ),
    Protection(
        "a compressed body is unpacked only as far as it is read",
        "return zlib.decompressobj(GZIP_OR_ZLIB).decompress(content, most)",
        "return zlib.decompressobj(GZIP_OR_ZLIB).decompress(content)",
        "tests/paid/client/test_client.py::test_what_is_compressed_is_unpacked_in_little_memory",
    ),
    Protection(
        "nothing counts as sent over a tunnel in which TLS never began",
        "        if secured is None or secured.is_closing():",
        "        if secured is None:",
        "tests/paid/client/test_transport.py"
        "::test_a_proxy_that_hangs_up_before_tls_began_sent_nothing",
    ),
    # The key.
    Protection(
        "the key is blotted out of responses",
        'content = content.replace(form, b"*" * len(form))',
        "pass",
        "tests/paid/client/test_client.py::test_the_key_is_in_no_repr_log_or_reply",
    ),
    Protection(
        "a settings file that was only found sends the key nowhere",
        '    if in_file("base_url"):\n',
        "    if False:\n",
        "tests/paid/test_found_file.py::"
        "test_the_address_in_a_found_file_is_refused_before_anything_is_sent",
    ),
    Protection(
        "a settings file that was only found makes no secret of another file",
        'if address and (key_file := in_file("api_key_file")):',
        "if False:",
        "tests/paid/test_found_file.py::test_the_file_of_the_key_in_a_found_file_is_not_read",
    ),
    Protection(
        "settings do not show the key",
        "api_key: str | None = field(repr=False)",
        "api_key: str | None",
        "tests/test_secrets.py::"
        "test_an_error_that_nobody_expected_even_where_local_variables_are_shown",
    ),
)
