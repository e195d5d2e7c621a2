"""What a task hands to its driver in secret (B3, B4)."""

import os
import pickle
import stat
import tempfile
import time

import pytest

from airflow_coordination.leases import SettingsError
from airflow_coordination.leases.handover import LONGEST_DELIVERY, Envelope, discard

SECRET = "canary-77a1"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_b4_it_is_a_file_for_its_user_alone_and_read_once(folder):
    """B4 d: mode 0600 in a directory of mode 0700; gone with the first look."""
    path = Envelope(SECRET, "w").seal()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert Envelope.open(path) == Envelope(SECRET, "w")
    assert list(folder.iterdir()) == []
    assert Envelope.open(path) is None


def test_b4_what_was_not_read_is_removed(folder):
    """B4 d: a driver may be killed before it reads."""
    path = Envelope(SECRET, "w").seal()
    discard(path)
    discard(path)
    assert list(folder.iterdir()) == []


def test_b4_what_a_killed_task_left_is_removed_by_a_later_one(folder):
    """B4 d: a task may be killed, too. A driver of today may still be on its way to its envelope."""
    forgotten, young = Envelope(SECRET, "w").seal(), Envelope(SECRET, "w").seal()
    long_ago = time.time() - LONGEST_DELIVERY - 60
    os.utime(forgotten.parent, (long_ago, long_ago))
    newest = Envelope(SECRET, "w").seal()
    assert (forgotten.parent.exists(), young.exists(), newest.exists()) == (False, True, True)


@pytest.mark.parametrize("mode", [0o644, 0o660, 0o604])
def test_b4_a_file_that_others_can_read_or_write_is_refused(folder, mode):
    """B4 d: whoever can write it could send a driver to a store of their own."""
    path = Envelope(SECRET, "w").seal()
    path.chmod(mode)
    with pytest.raises(SettingsError, match="is no file that this user alone can read") as refused:
        Envelope.open(path)
    assert SECRET not in str(refused.value)


def test_b4_a_link_is_not_followed(folder):
    """B4 d."""
    path = Envelope(SECRET, "w").seal()
    (folder / "link").symlink_to(path)
    with pytest.raises(SettingsError, match="cannot be read"):
        Envelope.open(folder / "link")
    assert path.exists()


@pytest.mark.parametrize("text", ["", "[]", "{}", "[" * 100_000, f'"{SECRET}"', "no JSON"])
def test_b4_other_contents_are_refused_without_showing_them(folder, text):
    """B4 d."""
    path = Envelope("s", "w").seal()
    path.write_text(text)
    with pytest.raises(SettingsError, match="does not hold what a task has written") as refused:
        Envelope.open(path)
    assert SECRET not in str(refused.value)


def test_b9_it_is_neither_shown_nor_pickled():
    """B9."""
    envelope = Envelope(SECRET, "word-77a1")
    assert "77a1" not in repr(envelope)
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(envelope)
