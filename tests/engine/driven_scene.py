"""A scene that a thread of its own steps, and what clients may do to it; for several tests."""

import threading
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.host.playback import Ticket
from stroboscope.debugger_protocol.messages import (
    Command,
    OverrideControl,
    Perturb,
    PerturbKind,
    ReleasePerturb,
    SetControlNoise,
)

FULL = mujoco.mjtState.mjSTATE_INTEGRATION
BOX_AND_ARM = """
<mujoco><option timestep="0.002" {option}/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 .1"/>
    <body name="box" pos="0 0 1"><freejoint/>
      <geom type="box" size=".1 .2 .3" pos=".02 0 .1"/>
      <body name="flap" pos=".3 0 0"><joint name="flap" axis="0 1 0" damping=".1"/>
        <geom type="capsule" size=".03" fromto="0 0 0 .2 0 0"/></body>
    </body>
    <body name="arm" pos="2 0 1"><joint name="arm" axis="0 1 0" damping="1"/>
      <geom type="capsule" size=".05" fromto="0 0 0 .4 0 0"/></body>
    <body name="wall" pos="0 3 1"><geom type="box" size=".1 .1 .1"/></body>
    <body name="stone" pos="-2 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
    <body name="hand" mocap="true" pos="0 0 3"/>
  </worldbody>
  <equality><connect name="leash" active="false" body1="stone" anchor="0 0 0"/></equality>
  <actuator>
    <motor name="arm" joint="arm" gear="5" ctrlrange="-1 1"/>
    <motor name="flap" joint="flap" ctrlrange="-2 2"/>
  </actuator>
</mujoco>
"""
BOX, FLAP, ARM, WALL, STONE = 1, 2, 3, 4, 5


class Driven:
    """A scene that a thread of its own steps with ``loop(scene)``; what the script saw."""

    def __init__(self, host: Host, option: str, loop: Callable[["Driven"], None]) -> None:
        self.host = host
        self.seen: list[bytes] = []
        self.scene: Any = None
        self.error: BaseException | None = None
        self._loop = loop
        self._option = option
        self._made = threading.Event()
        self.over = False
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        assert self._made.wait(60)

    def _run(self) -> None:
        try:
            model = mujoco.MjModel.from_xml_string(BOX_AND_ARM.format(option=self._option))
            self.scene = physics.create_scene("box", model)
            data = self.scene.data
            data.xfrc_applied[BOX, :3] = (0.1, 0.2, 0.3)
            data.ctrl[:] = (0.1, 0.7)
            self._made.set()
            self._loop(self)
        except physics.SceneDestroyedError:
            return
        except BaseException as error:  # noqa: BLE001 - looked at by the test
            self.error = error
        finally:
            self._made.set()

    def look(self) -> None:
        """Keep what the script sees of its own inputs."""
        data = self.scene.data
        self.seen.append(data.ctrl.tobytes() + data.xfrc_applied.tobytes())

    def give(self, command: Command) -> None:
        """Give a command and wait until it is done."""
        self.wait(lambda reply: self.host.edit(command, client=1, reply=reply))

    def step(self, count: int = 1) -> None:
        """Complete application steps."""
        self.wait(lambda reply: self.host.step(self.id, count, reply=reply))

    def wait(self, command: Callable[..., Ticket]) -> None:
        """Give a command with a reply and wait for that."""
        answered, errors = threading.Event(), []

        def reply(error: CommandError | None) -> None:
            errors.append(error)
            answered.set()

        command(reply)
        assert answered.wait(60)
        if errors[0] is not None:
            raise errors[0]

    @property
    def id(self) -> int:
        return int(self.scene.link.scene_id)

    @property
    def model(self) -> Any:
        return self.scene.world.model

    def state(self) -> NDArray[np.float64]:
        """Return the state as it stands; while the scene is parked."""
        row = np.empty(mujoco.mj_stateSize(self.model, FULL))
        mujoco.mj_getState(self.model, self.scene.world.live(), row, FULL)
        return row

    def used(self, part: mujoco.mjtState) -> NDArray[np.float64]:
        """Return that part of the row that the last physics step was given."""
        data = mujoco.MjData(self.model)
        mujoco.mj_setState(self.model, data, self.scene.history.last_row(), FULL)
        values = np.empty(mujoco.mj_stateSize(self.model, part))
        mujoco.mj_getState(self.model, data, values, part)
        return values

    def end(self) -> None:
        self.host.detach("the test is over")
        self.over = True
        self._thread.join(60)
        assert self.error is None, self.error


def plain(driven: Driven) -> None:
    """A script that writes no inputs after its beginning."""
    while not driven.over:
        driven.scene.step()
        driven.look()


def several(driven: Driven) -> None:
    while not driven.over:
        driven.scene.step(nstep=5)
        driven.look()


def pull(driven: Driven, body: int = BOX, **fields: Any) -> Perturb:
    values: dict[str, Any] = {"kind": PerturbKind.FORCE, "pos": (0.5, 0.5, 2.0), **fields}
    return Perturb(id=0, scene_id=driven.id, body=body, **values)


def everything_at_once(driven: Driven) -> None:
    driven.give(pull(driven, FLAP, point=(0.1, 0, 0)))
    driven.give(OverrideControl(id=0, scene_id=driven.id, index=0, value=-0.9))
    driven.give(SetControlNoise(id=0, scene_id=driven.id, std=0.2, rate=0.1))


def nothing_any_more(driven: Driven) -> None:
    driven.give(ReleasePerturb(id=0, scene_id=driven.id))
    driven.give(OverrideControl(id=0, scene_id=driven.id, index=0, value=None))
    driven.give(SetControlNoise(id=0, scene_id=driven.id, std=0.0))
