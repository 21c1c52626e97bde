"""What the buttons of the status bar say: of recordings, of interventions, of findings."""

import functools
from collections.abc import Callable, Iterator

from stroboscope.app.main.status_button import StatusEntry, StatusNote
from stroboscope.app.models.checkpoints import size_text
from stroboscope.app.models.numbers import THIN_SPACE, count_text, number_text
from stroboscope.app.models.recording import RecordedFile, recorded_files
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.models.signal import Signal
from stroboscope.app.panels.icons import Icon
from stroboscope.debugger_protocol.messages import LogLevel

__all__ = [
    "findings_note",
    "findings_signals",
    "give_back",
    "interventions_note",
    "interventions_signals",
    "recordings_note",
    "recordings_signals",
]

# As wide as a digit.
_DIGIT = "\N{FIGURE SPACE}"
# Scenes of one file that are named.
_NAMED_SCENES = 3


# --- recordings


def recordings_signals(sessions: SessionsModel) -> Iterator[Signal[[]]]:
    """Yield what tells that other recordings run, or that they have grown."""
    for scene in sessions.all_scenes():
        yield scene.recording.changed


def recordings_note(
    sessions: SessionsModel, stop: Callable[[tuple[RecordedFile, ...]], object]
) -> StatusNote | None:
    """Say what is recorded, in whichever scene; a click on the only one calls ``stop``."""
    files = recorded_files(sessions.all_scenes())
    if not files:
        return None
    failed = [each for each in files if each.info.failure]
    size = f"{_frames(files)} · {size_text(sum(each.info.nbytes for each in files))}"
    first = files[0]
    if len(files) > 1:
        text = f"{count_text(len(files))} recordings · {size}"
        hint = "Click to see which, and to stop one of them or all."
    else:
        elsewhere = sessions.shown is not None and sessions.shown not in first.scenes
        scenes = f"{_scenes(first)}: " if elsewhere else ""
        text = f"{scenes}{first.name} · {size}"
        hint = f"Recording {first.info.path}\nClick to stop."
    if failed:
        text = f"{failed[0].name} is not written any more"
        hint = f"{failed[0].info.failure}\n{hint}"
    return StatusNote(
        text=text,
        icon=Icon.WARNING if failed else Icon.RECORD,
        color="warn" if failed else "stop",
        hint=hint,
        count=len(files),
        entries=tuple(_recording_entries(files, stop)),
        act=None if len(files) > 1 else lambda: stop(files),
    )


def _recording_entries(
    files: tuple[RecordedFile, ...], stop: Callable[[tuple[RecordedFile, ...]], object]
) -> Iterator[StatusEntry]:
    """Yield the files under the application that writes them and their folder."""
    counts = _one_below_the_other([_frames((each,)) for each in files])
    sizes = _one_below_the_other([size_text(each.info.nbytes) for each in files])
    detail = {id(each): f"{n} · {size}" for each, n, size in zip(files, counts, sizes, strict=True)}
    places = dict.fromkeys((each.scenes[0].session, each.folder) for each in files)
    for session, folder in places:
        yield StatusEntry(text=f"{session.name} records into {folder}")
        for each in files:
            if (each.scenes[0].session, each.folder) == (session, folder):
                broken = "not written any more · " if each.info.failure else ""
                yield StatusEntry(
                    text=f"Stop {each.name} — {_scenes(each)}",
                    detail=f"{broken}{detail[id(each)]}",
                    hint="\n".join(filter(None, (each.info.path, each.info.failure))),
                    act=functools.partial(stop, (each,)),
                )
    if len(files) > 1:
        everything = f"Stop all {count_text(len(files))} recordings"
        yield StatusEntry(text="")
        yield StatusEntry(text=everything, act=lambda: stop(files))


def _frames(files: tuple[RecordedFile, ...]) -> str:
    count = sum(each.info.frames for each in files)
    return f"{count_text(count)} frame{'' if count == 1 else 's'}"


def _one_below_the_other(numbers: list[str]) -> list[str]:
    """Return texts that begin with numbers, filled up in front: digits stand below digits."""
    longest = max(numbers, key=lambda text: len(text.partition(" ")[0]), default="")
    width = len(longest.partition(" ")[0])
    filled = []
    for text in numbers:
        missing = longest[: width - len(text.partition(" ")[0])]
        filled.append("".join(THIN_SPACE if c == THIN_SPACE else _DIGIT for c in missing) + text)
    return filled


def _scenes(file: RecordedFile) -> str:
    names = [scene.name for scene in file.scenes]
    more = len(names) - _NAMED_SCENES
    return ", ".join(names[:_NAMED_SCENES]) + (f" and {count_text(more)} more" if more > 0 else "")


# --- interventions


def interventions_signals(sessions: SessionsModel) -> Iterator[Signal[[]]]:
    """Yield what tells that the shown scene is driven in another way."""
    if sessions.shown is not None:
        yield sessions.shown.edits.interventions_changed


def interventions_note(sessions: SessionsModel) -> StatusNote | None:
    """Say that controls of the shown scene are not its script's; a click gives all back."""
    scene = sessions.shown
    if scene is None or scene.is_stale:
        return None
    said = scene.edits.interventions
    parts = []
    if said.overrides:
        count = len(said.overrides)
        parts.append(f"{count} {'control' if count == 1 else 'controls'} overridden")
    if said.noise_std > 0.0:
        parts.append("noise on the controls" if not parts else "noise")
    if not parts:
        return None
    return StatusNote(
        text=f"{', '.join(parts)} — give back",
        icon=Icon.HELD,
        color="warn",
        hint="Controls of the shown scene are not the script's. Click to give back.",
        entries=tuple(_intervention_entries(scene)),
        act=lambda: give_back(scene),
    )


def _intervention_entries(scene: SceneModel) -> Iterator[StatusEntry]:
    said, edits = scene.edits.interventions, scene.edits
    actuators = scene.description.actuators if scene.description is not None else ()
    names = {
        (each.ctrl if each.ctrl >= 0 else number): each.name
        for number, each in enumerate(actuators)
    }
    for index, value in said.overrides:
        yield StatusEntry(
            text=f"Give back {names.get(index) or f'control {index}'}",
            detail=number_text(value),
            act=functools.partial(edits.set_override, index, None),
        )
    if said.noise_std > 0.0:
        yield StatusEntry(text="End the noise", act=lambda: edits.set_noise(0.0, 0.0))


def give_back(scene: SceneModel | None) -> None:
    """Leave every control to the script."""
    if scene is None or scene.is_stale:
        return
    said = scene.edits.interventions
    for index, _ in said.overrides:
        scene.edits.set_override(index, None)
    if said.noise_std > 0.0:
        scene.edits.set_noise(0.0, 0.0)


# --- findings


def findings_signals(sessions: SessionsModel) -> Iterator[Signal[[]]]:
    """Yield what tells that other things were found about the shown scene."""
    if sessions.shown is not None:
        yield sessions.shown.edits.findings_changed


def findings_note(sessions: SessionsModel, show: Callable[[], object]) -> StatusNote | None:
    """Say how much was found about the shown scene; ``show`` says what."""
    found = (sessions.shown.edits.findings if sessions.shown is not None else None) or ()
    if not found:
        return None
    count = len(found)
    grave = any(finding.level is not LogLevel.INFO for finding in found)
    return StatusNote(
        text=f"{count} finding{'s' * (count != 1)} about this model",
        icon=Icon.WARNING if grave else Icon.INFO,
        color="warn" if grave else "muted",
        hint=f"{found[0].text}\nClick to see what was found, and what to try.",
        count=count,
        act=show,
    )
