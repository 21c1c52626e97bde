"""Every action of the window with its menu and keys, in one table.

Keys follow MuJoCo's viewer where they meet.
"""

import dataclasses

from stroboscope.app.main.view_grid import Arrangement
from stroboscope.app.models.overlays import OVERLAYS
from stroboscope.app.models.view_options import GROUPS, FrameMode, LabelMode, RenderMode
from stroboscope.app.view3d.camera import StandardView

__all__ = ["ACTIONS", "BOOKMARKS", "MENUS", "MOUSE", "NAMED_SUBMENUS", "ActionSpec"]

MENUS = ("Session", "Run", "View", "Show", "Camera", "Window", "Help")
NAMED_SUBMENUS = ("Labels", "Axes", "Render", "Geom groups", "Site groups", "Look from", "Go to")
"""Submenus whose entries mean nothing without the title."""
BOOKMARKS = 9
"""Saved cameras that have a key."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ActionSpec:
    """One action: ``keys`` are alternatives, the first is shown.

    ``menu`` may be a submenu, as in ``Show/Contacts``; ``words`` are others that people look for
    it by.
    """

    name: str
    menu: str
    text: str
    keys: tuple[str, ...] = ()
    tip: str = ""
    checkable: bool = False
    separator: bool = False
    words: str = ""


_RENDERED = {
    RenderMode.PICTURE: "Colours, lights and textures.",
    RenderMode.IDS: "A flat colour per geom, site, flex, skin and tendon; point at one for its id.",
    RenderMode.DEPTH: "Near is black, far is white; the legend says what depths these are.",
}
_VIEWS = {
    Arrangement.ONE: "One view",
    Arrangement.SIDE_BY_SIDE: "Two side by side",
    Arrangement.STACKED: "Two stacked",
    Arrangement.FOUR: "Four views",
}


def _spec(
    menu: str,
    name: str,
    text: str,
    *keys: str,
    tip: str = "",
    checkable: bool = False,
    separator: bool = False,
    words: str = "",
) -> ActionSpec:
    return ActionSpec(
        name=name,
        menu=menu,
        text=text,
        keys=keys,
        tip=tip,
        checkable=checkable,
        separator=separator,
        words=words,
    )


ACTIONS: tuple[ActionSpec, ...] = (
    _spec("Session", "connect", "Connect…", "Ctrl+O", tip="Attach to an application that runs."),
    _spec(
        "Session",
        "open_file",
        "Open file…",
        "Ctrl+Shift+O",
        tip="Show a scene, a model or a recorded run; nothing in it is executed.",
        words="load strobe mcap mjcf urdf replay",
    ),
    _spec("Session", "run_script", "Run script…", "Ctrl+R", tip="Run a script with the debugger."),
    _spec("Session", "demos", "Demos"),
    _spec("Session", "take_control", "Take control", separator=True),
    _spec("Session", "reconnect", "Reconnect"),
    _spec("Session", "disconnect", "Disconnect", tip="Leave the shown application; it goes on."),
    _spec(
        "Session",
        "forget_ended",
        "Remove ended applications",
        tip="Take the last states of applications that have ended out of the window.",
    ),
    _spec("Session", "quit", "Quit", "Ctrl+Q", separator=True),
    _spec(
        "Run",
        "play",
        "Play",
        "Space",
        "F5",
        tip="Play or pause what is in scope.",
        words="continue resume stop run",
    ),
    _spec("Run", "fast_forward", "Fast forward", "Shift+Space", checkable=True, words="speed"),
    _spec("Run", "step", "Single step", "Right", "F10", tip="One step of the shown scene."),
    _spec("Run", "step_many", "Step N…", "Ctrl+Shift+Right"),
    _spec("Run", "physics_step", "Physics step", "Shift+Right"),
    _spec(
        "Run",
        "step_back",
        "Step back",
        "Left",
        tip="Look one step back, bit for bit; the scene stays where it is.",
        words="rewind past previous undo history reverse",
    ),
    _spec("Run", "physics_step_back", "Physics step back", "Shift+Left", words="rewind past"),
    _spec(
        "Run",
        "play_backwards",
        "Play backwards",
        "Ctrl+Space",
        tip="Let the view move back through the past, at the speed of the session.",
        words="reverse rewind replay past",
    ),
    _spec(
        "Run",
        "loop",
        "Loop",
        "Alt+L",
        checkable=True,
        tip="Begin anew where a replay, or the past, has been played to its end.",
        words="repeat again replay",
    ),
    _spec(
        "Run",
        "link_times",
        "Link times",
        checkable=True,
        tip="Other recorded runs, and scenes that are paused, are looked at at the same time.",
        words="synchronize sync several files compare together replay",
    ),
    _spec(
        "Run",
        "go_live",
        "Back to live",
        "End",
        tip="Look at where the scene stands again.   Esc",
        words="present now newest end",
    ),
    _spec(
        "Run",
        "continue_here",
        "Continue from here",
        "Return",
        "Enter",
        tip="Move the scene to the step in view; the script goes on from there.",
        words="branch fork past resume",
    ),
    _spec(
        "Run",
        "continue_inputs",
        "Continue with recorded inputs",
        tip="Simulate the recorded inputs again from the step in view; the script waits.",
        words="branch replay past",
    ),
    _spec(
        "Run",
        "try_else",
        "Try something else from here…",
        "Ctrl+E",
        tip="Simulate the recorded inputs again with another gain, option or input, as a ghost.",
        words="what if experiment gain kp kv timestep resimulate rollout past edit",
    ),
    _spec("Run", "go_to", "Go to…", "Ctrl+J", tip="A step, a time, or an episode.", words="jump"),
    _spec("Run", "previous_event", "Previous event", "Ctrl+Left", words="stop checkpoint branch"),
    _spec("Run", "next_event", "Next event", "Ctrl+Right", words="stop checkpoint branch"),
    _spec("Run", "go_first", "Oldest step", "Ctrl+Home", words="first begin start history"),
    _spec("Run", "run_until", "Run until…", "Ctrl+T"),
    _spec(
        "Run",
        "restore",
        "Restore initial state",
        "Backspace",
        words="reset reload restart rewind back",
    ),
    _spec(
        "Run",
        "checkpoint",
        "Save checkpoint",
        "Shift+K",
        separator=True,
        tip="Keep the state that is looked at; Checkpoints lists and restores them.",
        words="state snapshot remember",
    ),
    _spec(
        "Run",
        "record",
        "Record…",
        "Ctrl+Alt+R",
        tip="Every step of the shown scene, into a file that replays it; once more: stop.",
        words="recording trajectory mcap file log capture start stop",
    ),
    _spec(
        "Run",
        "save_history",
        "Save history…",
        "Ctrl+S",
        tip="What the shown scene remembers, into a file, as if it had been recorded.",
        words="recording trajectory mcap file past flight recorder write",
    ),
    _spec(
        "Run",
        "new_condition",
        "Stop when…",
        "F9",
        "Ctrl+B",
        tip="Stop the shown scene when an expression becomes true.",
        words="condition breakpoint break when pause",
    ),
    _spec(
        "Run",
        "why_stopped",
        "Why it stopped",
        "Ctrl+Shift+W",
        tip="What is known of the newest stop, and what to try.",
        words="reason culprit explode nan",
    ),
    _spec(
        "Run",
        "try_offer",
        "Try what the stop offers",
        "Ctrl+Shift+T",
        tip="Simulate what led to the stop once more with an edit, as a ghost.",
        words="what if half timestep ghost",
    ),
    _spec(
        "Run",
        "revert_edit",
        "Revert last edit",
        "Ctrl+Z",
        tip="Undo what was set by hand or dragged last.",
        words="undo back change",
    ),
    _spec(
        "Run",
        "give_back",
        "Give controls back to the script",
        tip="End all overrides and the noise on controls.",
        words="override actuator noise",
    ),
    _spec("Run", "slower", "Slower", "-", separator=True, words="speed slow motion"),
    _spec("Run", "faster", "Faster", "=", "+", words="speed"),
    _spec("Run", "scope_scene", "Only this scene", checkable=True),
    _spec(
        "View",
        "ghost_here",
        "Ghost of this state",
        "Shift+G",
        tip="Leave what is looked at in the picture, see-through; once more: remove it.",
        words="onion skin overlay compare translucent",
    ),
    _spec(
        "View",
        "ghost_scene",
        "Ghost of another scene…",
        tip="Show another scene, or another recorded run, in this one, at the same time.",
        words="compare overlay trajectory file replay translucent",
    ),
    _spec("View", "clear_ghosts", "Remove all ghosts", "Ctrl+Alt+G", words="overlay"),
    _spec(
        "View",
        "next_environment",
        "Next environment",
        "Alt+PgDown",
        words="batch env",
        separator=True,
    ),
    _spec("View", "previous_environment", "Previous environment", "Alt+PgUp", words="batch env"),
    _spec("View", "next_failed", "Next environment that failed", words="batch env stopped"),
    _spec("View", "next_scene", "Next scene", "PgDown", separator=True),
    _spec("View", "previous_scene", "Previous scene", "PgUp"),
    *(
        _spec(
            "View/Split",
            f"views_{each.name.lower()}",
            _VIEWS[each],
            f"Ctrl+Alt+{number}",
            checkable=True,
            words="viewports windows side by side quad layout cameras",
        )
        for number, each in enumerate(Arrangement, start=1)
    ),
    _spec(
        "View/Split",
        "next_view",
        "Next view",
        "Ctrl+Tab",
        tip="Keys and menus act on the view with the line around it; clicking in one chooses it.",
        separator=True,
        words="viewport",
    ),
    _spec("View", "instant", "NOW / executed step", ".", tip="Which instant of a paused scene."),
    _spec(
        "View",
        "select_parent",
        "Select the parent",
        "Ctrl+Up",
        tip="The body of what is selected, then that body's parent.",
        separator=True,
        words="body up tree",
    ),
    _spec("View", "hide", "Hide or show selection", "Ctrl+H"),
    _spec("View", "isolate", "Only the selection", "Ctrl+I", tip="Hide all else; again: show it."),
    _spec("View", "show_all", "Show everything", "Ctrl+Shift+H"),
    _spec(
        "View",
        "picture",
        "Save picture…",
        "Ctrl+Shift+P",
        separator=True,
        tip="Save or copy a picture of the view or the window, at any size.",
        words="screenshot image png capture grab export",
    ),
    _spec(
        "View",
        "copy_picture",
        "Copy picture",
        "Ctrl+Shift+C",
        tip="Of the active view as it is, into the clipboard.",
        words="screenshot clipboard image capture",
    ),
    _spec(
        "View",
        "film",
        "Record film…",
        "Ctrl+Shift+R",
        tip="Of the active view; once more: stop, and keep it.",
        words="video movie capture mp4 gif screencast",
    ),
    _spec("View", "cancel_film", "Cancel film", tip="Stop recording and remove the file."),
    *(
        _spec(
            f"Show/{each.group.value}",
            each.name,
            each.title,
            *each.keys,
            tip=each.tip,
            checkable=True,
            words=each.words,
        )
        for each in OVERLAYS
    ),
    _spec("Show/Labels", "labels", "Next labels", "F7", tip="Names of bodies, joints, geoms, …"),
    *(
        _spec(
            "Show/Labels",
            f"labels_{mode.value}",
            mode.value.capitalize(),
            checkable=True,
            separator=mode is LabelMode.NONE,
            words="names text",
        )
        for mode in LabelMode
    ),
    _spec("Show/Axes", "frames", "Next axes", "F6", tip="Of bodies, geoms, sites, …"),
    *(
        _spec(
            "Show/Axes",
            f"frames_{mode.value}",
            mode.value.capitalize(),
            checkable=True,
            separator=mode is FrameMode.NONE,
            words="frames coordinate system",
        )
        for mode in FrameMode
    ),
    *(
        _spec(
            "Show/Render",
            f"render_{mode.value}",
            mode.value.capitalize(),
            checkable=True,
            tip=_RENDERED[mode],
            words="segmentation depth id mask distance",
        )
        for mode in RenderMode
    ),
    *(
        _spec("Show/Geom groups", f"group_{n}", f"Group {n}", str(n), checkable=True)
        for n in range(GROUPS)
    ),
    *(
        _spec("Show/Site groups", f"site_group_{n}", f"Group {n}", f"Shift+{n}", checkable=True)
        for n in range(GROUPS)
    ),
    _spec(
        "Camera",
        "free_camera",
        "Free camera",
        "Esc",
        tip="Back to live first; once more: select nothing.",
    ),
    _spec(
        "Camera",
        "track",
        "Track the selection",
        "Shift+T",
        tip="The camera follows the selected body; without one, the first that moves.",
        checkable=True,
        words="tracking follow body",
    ),
    _spec("Camera", "next_camera", "Next camera", "]", separator=True, words="model fixed"),
    _spec("Camera", "previous_camera", "Previous camera", "[", words="model fixed"),
    *(
        _spec(
            "Camera/Look from",
            f"look_{view.name.lower()}",
            view.name.capitalize(),
            words="standard view side elevation",
        )
        for view in StandardView
    ),
    _spec(
        "Camera",
        "orthographic",
        "Orthographic",
        "O",
        checkable=True,
        words="perspective parallel projection",
    ),
    _spec("Camera", "field_of_view", "Field of view…", words="fov fovy lens zoom angle"),
    _spec(
        "Camera", "frame_selection", "Frame selection", "Shift+F", separator=True, words="zoom fit"
    ),
    _spec("Camera", "frame_all", "Frame everything", "Home", words="zoom fit reset align camera"),
    _spec(
        "Camera",
        "save_camera",
        "Save this camera…",
        "Ctrl+D",
        separator=True,
        tip="Under a name, for this script and scene.",
        words="bookmark remember view",
    ),
    *(
        _spec(
            "Camera/Saved cameras",
            f"bookmark_{n}",
            f"Saved camera {n}",
            f"Ctrl+{n}",
            words="bookmark",
        )
        for n in range(1, BOOKMARKS + 1)
    ),
    _spec(
        "Camera",
        "copy_camera",
        "Copy as MJCF <camera>",
        tip="With position, axes and field of view, to paste into the model.",
        words="xml export",
    ),
    *(
        _spec("Window/Go to", name, text, *keys, words=words)
        for name, text, keys, words in (
            ("joint_sliders", "Joint sliders", (), "qpos set pose position move"),
            ("control_sliders", "Control sliders", (), "ctrl actuator motor override noise"),
            ("physics_options", "Physics options", (), "timestep gravity integrator solver flags"),
            ("states", "States and keyframes", (), "checkpoint key copy state pose mjcf load save"),
            ("stop_rules", "Stop rules", (), "off on mark only stop all warning exploding"),
            ("profiler", "Profiler", ("F3",), "time step cpu performance solver"),
            ("sensors_table", "Sensors", ("F4",), "sensordata values"),
            ("energy_table", "Energy and momenta", (), "drift kinetic potential"),
        )
    ),
    _spec(
        "Window",
        "plot_signal",
        "Plot a signal…",
        "Ctrl+G",
        tip="Choose from everything that can be plotted.",
        words="graph chart curve add channel",
    ),
    _spec(
        "Window",
        "plot_expression",
        "Plot an expression…",
        "Ctrl+Shift+G",
        tip="Something computed of signals, for instance qpos['knee'] - ctrl['knee'].",
        words="graph formula compute derived add",
    ),
    _spec("Window", "panels", "Panels", "Tab", tip="Hide all panels, or show them again."),
    _spec(
        "Window",
        "panels_below",
        "Panels below",
        "Shift+Tab",
        checkable=True,
        tip="Open plots, tables and log, or fold them to their tabs: the picture has their room.",
        words="fold collapse expand bottom plots tables log",
    ),
    _spec("Window", "theme", "Light theme", checkable=True, words="dark colours colors"),
    _spec("Window", "reset_layout", "Reset layout"),
    _spec("Window", "full_screen", "Full screen", "F11", checkable=True, words="fullscreen"),
    _spec("Help", "command_palette", "Command palette…", "Ctrl+P"),
    _spec("Help", "search", "Search in the scene", "Ctrl+F"),
    _spec(
        "Help",
        "keys",
        "Keys and mouse",
        "F1",
        words="shortcuts hotkeys help perturb push pull drag apply force torque body select point",
    ),
    _spec("Help", "about", "About Stroboscope", separator=True),
)

MOUSE: tuple[tuple[str, str], ...] = (
    ("Turn", "left drag"),
    ("Move", "right drag"),
    ("Zoom", "wheel, or middle drag"),
    ("Select", "double-click"),
    ("Look at", "right double-click"),
    ("Track a body", "Ctrl + right double-click"),
    ("Pull the selection", "Ctrl + right drag"),
    ("… horizontally", "Ctrl + Shift + right drag"),
    ("Turn the selection", "Ctrl + left drag"),
    ("Fly", "right button + W A S D Q E"),
)
