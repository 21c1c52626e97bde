"""Settings survive, and a damaged file never stops the window."""

import pytest

from stroboscope.app.models.settings import ScriptMemory, Settings, SettingsStore


@pytest.fixture
def store(tmp_path):
    return SettingsStore(tmp_path / "config" / "settings.json")


def test_what_was_saved_is_loaded(store):
    settings = Settings(theme="light", recent=["a.py"])
    settings.scripts["a.py"] = ScriptMemory(scene="Arm", camera={"Arm": {"distance": 2.0}})
    store.save(settings)
    assert store.load() == settings
    assert store.problem == ""
    assert [path.name for path in store.path.parent.iterdir()] == ["settings.json"]


def test_a_missing_file_gives_the_defaults(store):
    assert store.load() == Settings()
    assert store.problem == ""


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'{"version": 99}', b'{"theme": 5}'])
def test_a_damaged_file_is_kept_aside_and_said(store, content):
    store.path.parent.mkdir()
    store.path.write_bytes(content)
    assert store.load() == Settings()
    assert "settings.damaged.json" in store.problem
    assert store.path.with_suffix(".damaged.json").read_bytes() == content


def test_a_folder_that_cannot_be_written_is_said_not_raised(tmp_path):
    (tmp_path / "config").write_text("a file where the folder should be")
    store = SettingsStore(tmp_path / "config" / "settings.json")
    store.save(Settings())
    assert "can't be saved" in store.problem


def test_recent_scripts_are_bounded_and_newest_first():
    settings = Settings()
    for number in range(20):
        settings.add_recent(f"{number}.py")
    settings.add_recent("15.py")
    assert settings.recent[:2] == ["15.py", "19.py"]
    assert len(settings.recent) == 12


def test_the_oldest_script_is_forgotten_first():
    settings = Settings()
    for number in range(60):
        settings.script(f"{number}.py")
    assert len(settings.scripts) == 50
    assert "0.py" not in settings.scripts
    assert "59.py" in settings.scripts
