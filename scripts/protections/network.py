"""What comes over the network does no harm, and the key stays secret."""

from __future__ import annotations

from .protection import Protection

PROTECTIONS = (
    # What comes over the network.
    Protection(
        "a redirect that comes through a proxy is not followed",
        "allow_redirects=False",
        "allow_redirects=True",
        "tests/paid/client/test_transport.py::"
        "test_a_redirect_that_comes_through_a_proxy_is_not_followed",
    ),
    Protection(
        "a connection with something unread is not used again",
        "return self._reusable and not self._ended and not self._got",
        "return self._reusable and not self._ended",
        "tests/paid/client/test_connection.py::"
        "test_another_connection_follows_a_response_that_ends_it",
    ),
    Protection(
        "a connection whose request was not sent to the end is not used again",
        "return not self._transport.get_write_buffer_size()",
        "return True",
        "tests/paid/client/test_connection.py::"
        "test_a_connection_whose_request_was_not_read_is_not_used_again",
    ),
    Protection(
        "no connection is kept to a server that often closes idle ones",
        "if not connection.reusable or self._hung_up * FEWEST_REUSED > self._reused:",
        "if not connection.reusable:",
        "tests/paid/client/test_connection.py::"
        "test_connections_are_kept_unless_the_server_often_spoils_them",
    ),
    Protection(
        "no connection is kept to a server that sends more than its responses",
        "self._hung_up += not connection.reusable and since",
        "self._hung_up += connection.ended and since",
        "tests/paid/client/test_connection.py::"
        "test_a_connection_that_ends_or_gets_more_after_some_idle_time_does_not_count",
    ),
    Protection(
        "no connection is kept to a server that sends something late",
        "kept is not None and (kept.ended or broken)",
        "kept is not None and kept.ended",
        "tests/paid/client/test_connection.py::"
        "test_connections_are_kept_unless_the_server_often_spoils_them",
    ),
    Protection(
        "no connection is kept to a server that answers without a request",
        "self._keep_alive = 0.0",
        "pass",
        "tests/paid/client/test_connection.py::"
        "test_after_a_response_that_nobody_asked_for_no_connection_is_used_twice",
    ),
    Protection(
        "no connection from before the machine slept is used",
        "now = time.clock_gettime(CLOCK)",
        "now = asyncio.get_running_loop().time()",
        "tests/paid/client/test_connection.py::"
        "test_no_connection_from_before_the_machine_slept_is_used",
    ),
    Protection(
        "an empty line before a response does not lose it",
        r'            self._got = self._got.lstrip(b"\r\n")' "\n",
        "",
        "tests/paid/client/test_connection.py::test_a_complete_response_leaves_its_connection_open",
    ),
    Protection(
        "bare line feeds end the head of a response",
        r're.compile(rb"\n\r?\n")',
        r're.compile(rb"\r\n\r\n")',
        "tests/paid/client/test_connection.py::test_a_complete_response_leaves_its_connection_open",
    ),
    Protection(
        "an error of one worker does not cancel the calls of others",
        "except Exception as error:  # whichever it is, it must not cancel calls that are billed",
        "except PipelineError as error:",
        "tests/paid/test_pool.py::test_an_error_of_one_worker_does_not_lose_the_answers_of_others",
    ),
    Protection(
        "no more than so much of a body is read",
        "if len(arriving.content) > self._max_body:",
        "if False:",
        "tests/paid/client/test_large_answers.py::test_a_huge_body_is_cut_off_and_its_connection_closed",
    ),
    Protection(
        "a compressed body is unpacked only as far as it is read",
        "found += packing.decompress(content, most - len(found))",
        "found += packing.decompress(content)",
        "tests/paid/client/test_large_answers.py::test_what_is_compressed_is_unpacked_in_little_memory",
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
        "api_key: str = field(repr=False)",
        "api_key: str",
        "tests/test_secrets.py::"
        "test_an_error_that_nobody_expected_even_where_local_variables_are_shown",
    ),
)
