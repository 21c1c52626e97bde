"""What the window remembers between runs: one versioned JSON file in the user's config folder."""

import contextlib
import os
import tempfile
from pathlib import Path

import msgspec
import platformdirs

from stroboscope.app.models.conditions import SavedCondition

__all__ = ["SETTINGS_VERSION", "SavedRules", "ScriptMemory", "Settings", "SettingsStore"]

SETTINGS_VERSION = 1
_MAX_FILE_BYTES = 4 << 20
_MAX_RECENT = 12
_MAX_SCRIPTS = 50


class SavedRules(msgspec.Struct, frozen=True, kw_only=True):
    """Which stop rules are off in a scene, and what a stop does."""

    off: list[str] = msgspec.field(default_factory=list)
    stop_all: bool = False
    mark_only: bool = False


class ScriptMemory(msgspec.Struct, kw_only=True):
    """What belongs to one script: found again when it is started again.

    ``camera`` and ``plots`` are whatever the 3D view and the plots gave us to keep, ``watches``
    the expressions of the Watch panel.
    """

    scene: str = ""
    element_kind: str = ""
    element_name: str = ""
    camera: dict[str, object] = msgspec.field(default_factory=dict)
    # Of the second and further views of each scene.
    other_cameras: dict[str, list[dict[str, object]]] = msgspec.field(default_factory=dict)
    # Saved cameras of each scene: name and whatever the 3D view gave us to keep, in order.
    bookmarks: dict[str, list[tuple[str, dict[str, object]]]] = msgspec.field(default_factory=dict)
    plots: dict[str, object] = msgspec.field(default_factory=dict)
    watches: list[str] = msgspec.field(default_factory=list)
    # By the name of the scene.
    conditions: dict[str, list[SavedCondition]] = msgspec.field(default_factory=dict)
    stop_rules: dict[str, SavedRules] = msgspec.field(default_factory=dict)


class Settings(msgspec.Struct, kw_only=True):
    """Everything remembered. Qt's own geometry and dock blobs are kept as base64 text."""

    version: int = SETTINGS_VERSION
    theme: str = "dark"
    geometry: str = ""
    docks: str = ""
    # The panels that ``docks`` knows of.
    panels: list[str] = msgspec.field(default_factory=list)
    # Whether the panels below the picture are folded to their tabs; None: as fits the window.
    folded: bool | None = None
    scope: str = "all"
    log_level: str = "info"
    recent: list[str] = msgspec.field(default_factory=list)
    scripts: dict[str, ScriptMemory] = msgspec.field(default_factory=dict)
    view: dict[str, object] = msgspec.field(default_factory=dict)
    # How many views of the scene there are and where; how pictures and films are made.
    views: str = "one"
    pictures: dict[str, object] = msgspec.field(default_factory=dict)
    films: dict[str, object] = msgspec.field(default_factory=dict)
    shortcuts: dict[str, str] = msgspec.field(default_factory=dict)
    # Columns and sorting that were chosen of each kind of table.
    tables: dict[str, dict[str, object]] = msgspec.field(default_factory=dict)
    # By the names that the user gave them.
    plot_layouts: dict[str, dict[str, object]] = msgspec.field(default_factory=dict)

    def add_recent(self, script: str) -> None:
        """Put ``script`` first in the list of recent ones."""
        if script:
            self.recent = [script, *(r for r in self.recent if r != script)][:_MAX_RECENT]

    def script(self, script: str) -> ScriptMemory:
        """Return the memory of ``script``, made when there is none; the oldest is forgotten."""
        memory = self.scripts.pop(script, None) or ScriptMemory()
        self.scripts[script] = memory
        while len(self.scripts) > _MAX_SCRIPTS:
            del self.scripts[next(iter(self.scripts))]
        return memory


class SettingsStore:
    """Loads and saves :class:`Settings`; a damaged file is kept aside, never fatal.

    ``problem`` is a sentence for the log when something was wrong with the file, else "".
    """

    def __init__(self, path: Path | None = None) -> None:
        folder = Path(platformdirs.user_config_dir("stroboscope", appauthor=False))
        self.path = path if path is not None else folder / "settings.json"
        self.problem = ""
        self._written = b""

    def load(self) -> Settings:
        """Return the stored settings, or fresh ones."""
        try:
            if self.path.stat().st_size > _MAX_FILE_BYTES:
                return self._set_aside("it is larger than 4 MiB")
            settings = msgspec.json.decode(self.path.read_bytes(), type=Settings)
        except FileNotFoundError:
            return Settings()
        except OSError as error:
            self.problem = f"The settings {self.path} can't be read ({error}): using the defaults."
            return Settings()
        except msgspec.MsgspecError as error:
            return self._set_aside(str(error))
        if settings.version != SETTINGS_VERSION:
            return self._set_aside(
                f"it has version {settings.version}, this program writes {SETTINGS_VERSION}"
            )
        return settings

    def save(self, settings: Settings) -> None:
        """Write atomically what differs from the last time.

        What can't be written is said in ``problem``, not raised.
        """
        data = msgspec.json.format(msgspec.json.encode(settings), indent=2)
        if data == self._written:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=".settings-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(data)
                Path(name).replace(self.path)
                self._written = data
            except OSError:
                with contextlib.suppress(OSError):
                    Path(name).unlink()
                raise
        except OSError as error:
            self.problem = f"The settings can't be saved to {self.path}: {error}."

    def _set_aside(self, why: str) -> Settings:
        aside = self.path.with_suffix(".damaged.json")
        with contextlib.suppress(OSError):
            self.path.replace(aside)
        self.problem = (
            f"The settings {self.path} could not be used ({why}). They were kept as {aside.name}; "
            "the window starts with the defaults."
        )
        return Settings()
