import threading
from collections.abc import Callable

from oscillator import Scene, Stepper

from stroboscope.debugger_protocol.host.activity import (
    describe_owner,
    observe_owner,
    owner_location,
)
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.messages import OwnerActivity, PlaybackMode

Wait = Callable[..., None]


def doing(host: Host, scene: Scene) -> OwnerActivity:
    return observe_owner(scene.link, now=host.monotonic())[0]


def test_a_scene_that_nobody_has_stepped_is_starting(host: Host) -> None:
    scene = Scene(host)
    assert doing(host, scene) is OwnerActivity.STARTING


def test_parking_stepping_and_ending_are_seen(host: Host, wait_until: Wait) -> None:
    host.attach(PlaybackMode.PAUSED)
    stepper = Stepper(host, "A")
    wait_until(lambda: doing(host, stepper.scene) is OwnerActivity.PARKED)
    host.fast_forward()
    wait_until(lambda: doing(host, stepper.scene) is OwnerActivity.STEPPING)
    stepper.join()
    assert doing(host, stepper.scene) is OwnerActivity.FINISHED


def test_a_busy_script_is_found_with_its_line(host: Host, wait_until: Wait) -> None:
    host.attach(PlaybackMode.FAST_FORWARD)
    go = threading.Event()
    stepper = Stepper(host, "A", between=lambda: go.wait(60) and None)
    wait_until(lambda: doing(host, stepper.scene) is OwnerActivity.USER_CODE)
    # Not the wait inside the standard library, but the script's line that led there.
    assert owner_location(stepper.scene.link).startswith("test_activity.py:")
    text = describe_owner(stepper.scene.link, host.links.values(), now=host.monotonic() + 3)
    assert text.startswith("busy in your code for 3.")
    assert "test_activity.py:" in text
    go.set()
    stepper.join()


def test_a_long_physics_step_is_told_from_the_scripts_code(host: Host, wait_until: Wait) -> None:
    host.attach(PlaybackMode.FAST_FORWARD)
    go = threading.Event()
    go.set()
    stepper = Stepper(host, "A")
    physics = stepper.scene.backend.physics

    def slow() -> None:
        go.wait(60)
        physics()

    stepper.scene.backend.physics = slow  # type: ignore[method-assign]
    go.clear()
    wait_until(
        lambda: (
            observe_owner(stepper.scene.link, now=host.monotonic())[1] > 0.06
            and doing(host, stepper.scene) is OwnerActivity.STEPPING
        )
    )
    text = describe_owner(stepper.scene.link, host.links.values(), now=host.monotonic())
    assert text.startswith("in a physics step for ")
    go.set()
    stepper.join()
