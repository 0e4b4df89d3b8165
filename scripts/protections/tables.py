"""An output is whole, only ours is replaced, and what it holds does no harm."""

from __future__ import annotations

from .protection import Protection

PROTECTIONS = (
    Protection(
        "an output is put in its place at once",
        "temporary.replace(target)",
        "target.write_bytes(temporary.read_bytes())",
        "tests/classification/test_job_output.py::test_a_reader_that_has_the_old_output_open_reads_it_to_its_end",
    ),
    Protection(
        "an output is on the disk before it is put in its place",
        "os.fsync(descriptor)",
        "pass",
        "tests/classification/test_job_output.py::test_output_and_manifest_are_synced_before_they_are_in_place",
    ),
    Protection(
        "an input that changes meanwhile gives no output",
        "if reader.fingerprint() != reader.opened_fingerprint:",
        "if False:",
        "tests/classification/test_job_output.py::test_an_input_that_changes_meanwhile_gives_no_output",
    ),
    Protection(
        "a file that this tool did not write is kept",
        "if not is_ours:",
        "if False:",
        "tests/classification/test_job_output.py::test_an_output_that_was_changed_is_kept",
    ),
    Protection(
        "a sample takes the place of no full table",
        "if full_by_sample:",
        "if False:",
        "tests/cli/test_run.py::test_a_sample_in_the_place_of_a_full_table_wants_overwrite",
    ),
    Protection(
        "an object that changes while it is read gives no output",
        "if self.version(path) != version:",
        "if False:",
        "tests/cli/clouds/test_stores.py::test_an_object_that_changes_or_vanishes_while_it_is_read_is_an_error",
    ),
    Protection(
        "an object that somebody else wrote meanwhile is kept",
        "if old.storage.version(old.path) != old.version:",
        "if False:",
        "tests/cli/clouds/test_objects.py::test_an_output_that_somebody_else_wrote_meanwhile_is_kept",
    ),
    Protection(
        "a place in a bucket is tried before anything is bought",
        "self.storage.write(mine, manifest_path(self.path))",
        "pass",
        "tests/cli/clouds/test_stores.py::test_a_store_that_refuses_is_a_clear_error_before_anything_is_bought",
    ),
    Protection(
        "standard output is sent nothing of a table that fails",
        "temporary = Path(folder) / name",
        'temporary = Path("/dev/stdout")',
        "tests/cli/test_standard_streams.py::test_what_fails_in_the_middle_of_writing_sends_nothing",
    ),
    Protection(
        "one writer for each output",
        "fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)",
        "pass",
        "tests/classification/test_job_output.py::test_two_runs_do_not_write_one_output_at_once",
    ),
    Protection(
        "a text of the service is no formula",
        """return f"'{seen}" if FORMULA.match(seen) else seen""",
        "return seen",
        "tests/tables/test_cells.py::"
        "test_a_text_of_ours_that_a_spreadsheet_would_compute_has_an_apostrophe",
    ),
    Protection(
        "a text of the service commands no terminal",
        """seen = value if value.isprintable() else UNSEEN.sub(" ", value)""",
        "seen = value",
        "tests/tables/test_cells.py::test_a_control_character_in_a_text_of_ours_becomes_a_space",
    ),
    Protection(
        "a name of a file commands no terminal",
        "return text.translate(CONTROLS)",
        "return text",
        "tests/cli/test_console.py::test_no_name_of_a_file_does_anything_to_a_terminal",
    ),
    Protection(
        "an unfinished output is written through no link",
        """\
            temporary.unlink()
        descriptor = os.open(temporary, FLAGS, 0o666)
""",
        """\
            pass
        descriptor = os.open(temporary, FLAGS & ~os.O_NOFOLLOW, 0o666)
""",
        "tests/files/test_local.py::"
        "test_a_link_in_the_place_of_an_unfinished_output_is_not_followed",
    ),
    Protection(
        "a damaged column is an error and no crash",
        "            _check_columns(file)\n",
        "",
        "tests/tables/test_tables.py::test_damage_anywhere_in_a_footer_is_an_error_and_no_crash",
    ),
    Protection(
        "no page, table or figures replace the ledger, the key or another input",
        "            if other is not None and _are_same(path, other):\n",
        "            if False:\n",
        "tests/cli/test_apart.py",
    ),
    Protection(
        "nothing replaces a ledger that the command does not name",
        "        if isinstance(path, Path) and _is_database(path):\n",
        "        if False:\n",
        "tests/cli/test_apart.py::test_a_model_or_a_settings_file_replaces_no_ledger_either",
    ),
    Protection(
        "no output of a Python call replaces the ledger or what it reads",
        "            _check_kept(this.source.path, this.sink.path, asked)\n",
        "            pass\n",
        "tests/cli/test_apart.py::test_what_a_python_call_keeps_is_not_written_over",
    ),
)
