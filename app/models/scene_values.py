"""What the inspector shows for a scene itself, when nothing in it is selected."""

import time

from stroboscope.app.models.element_values import ElementValues, Section, ValueRow
from stroboscope.app.models.frames import FrameSet
from stroboscope.app.models.numbers import MINUS, count_text, number_text, with_unit
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.shown_state import activity, rate_text
from stroboscope.app.models.tables.options import gravity_of, timestep_of

__all__ = ["scene_values"]


def scene_values(scene: SceneModel, frames: FrameSet | None = None) -> ElementValues:
    """Return the rows about ``scene``: counters, owner, and how large it is.

    ``frames`` say which options hold, as they may have been changed.
    """
    d = scene.description
    sections = []
    status = scene.status
    if status is not None:
        elapsed = max(0.0, time.monotonic() - scene.status_received)
        sections.append(
            Section(
                "Steps",
                (
                    ValueRow(label="steps", text=count_text(status.step_count)),
                    ValueRow(label="physics steps", text=count_text(status.physics_step_count)),
                    ValueRow(label="steps ever", text=count_text(status.total_steps)),
                    ValueRow(
                        label="speed", text="—" if scene.is_stale else rate_text(scene) or "—"
                    ),
                ),
            )
        )
        if scene.history.is_replay:
            # Nobody's script steps it: what its thread does says nothing.
            file = ValueRow(label="file", text=scene.history.recording)
            frame = ValueRow(label="in view", text=scene.history.frame_text)
            sections.append(Section("Recording", (file, frame)))
    if status is not None and not scene.history.is_replay:
        doing, at = activity(status, elapsed=elapsed)
        sections.append(
            Section(
                "Owner thread",
                (
                    ValueRow(label="thread", text=scene.owner or "unknown"),
                    ValueRow(label="doing", text=doing),
                    ValueRow(label="at", text=at or "—"),
                ),
            )
        )
    if d is not None:
        gravity = ", ".join(f"{g:g}".replace("-", MINUS) for g in gravity_of(d, frames))
        timestep = number_text(timestep_of(d, frames) * 1000)
        sections.append(
            Section(
                "Model",
                (
                    ValueRow(label="engine", text=d.engine or "unknown"),
                    ValueRow(label="source", text=d.source or "unknown"),
                    ValueRow(label="timestep", text=with_unit(timestep, "ms")),
                    ValueRow(label="gravity", text=with_unit(gravity, "m/s²")),
                    ValueRow(label="bodies", text=str(len(d.bodies))),
                    ValueRow(label="joints", text=str(len(d.joints))),
                    ValueRow(label="geoms", text=str(len(d.geoms))),
                    ValueRow(label="actuators", text=str(len(d.actuators))),
                    ValueRow(label="sensors", text=str(len(d.sensors))),
                    *(ValueRow(label="note", text=note) for note in d.notes),
                ),
            )
        )
    return ElementValues(
        name=scene.name, kind="scene", sections=tuple(sections), known=status is not None
    )
