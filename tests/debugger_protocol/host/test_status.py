import pytest
from oscillator import Scene

from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.host.status import SceneMeter
from stroboscope.debugger_protocol.messages import PlaybackMode


def run(scene: Scene, meter: SceneMeter, *, seconds: float, rate: float, start: float) -> None:
    """Let simulation time pass at ``rate`` × wall time, sampled ten times a second."""
    backend = scene.backend
    for tenth in range(round(seconds * 10)):
        for _ in range(round(rate * 0.1 / 0.002)):
            backend.physics()
        scene.link.refresh_clock()
        meter.sample(scene.link, now=start + (tenth + 1) * 0.1)


@pytest.fixture
def scene(host: Host) -> Scene:
    host.attach(PlaybackMode.FAST_FORWARD)
    scene = Scene(host)
    scene.link.refresh_clock()
    return scene


def test_the_real_time_factor_is_that_of_the_last_second(scene: Scene) -> None:
    meter = SceneMeter()
    meter.sample(scene.link, now=0.0)
    assert meter.rtf is None
    run(scene, meter, seconds=3.0, rate=4.0, start=0.0)
    assert meter.rtf == pytest.approx(4.0, rel=0.01)
    run(scene, meter, seconds=1.2, rate=0.5, start=3.0)
    assert meter.rtf == pytest.approx(0.5, rel=0.01)


def test_a_scene_that_stands_has_no_real_time_factor(scene: Scene) -> None:
    meter = SceneMeter()
    run(scene, meter, seconds=1.0, rate=1.0, start=0.0)
    run(scene, meter, seconds=1.5, rate=0.0, start=1.0)
    assert meter.rtf is None


def test_a_reset_between_two_samples_does_not_falsify_the_factor(scene: Scene) -> None:
    meter = SceneMeter()
    meter.sample(scene.link, now=0.0)
    for tenth in range(20):
        run(scene, meter, seconds=0.1, rate=3.0, start=tenth * 0.1)
        if tenth % 3 == 0:
            scene.backend.time = 0.0
            scene.link.state_replaced("episode")
            assert meter.rtf is None or meter.rtf == pytest.approx(3.0, rel=0.05)
    assert meter.rtf == pytest.approx(3.0, rel=0.05)


def test_a_script_is_throttled_when_it_waits_for_real_time(scene: Scene) -> None:
    meter = SceneMeter()
    meter.sample(scene.link, now=0.0)
    run(scene, meter, seconds=1.0, rate=1.0, start=0.0)
    assert not meter.throttled
    scene.link.pacer.slept += 0.5
    run(scene, meter, seconds=0.1, rate=1.0, start=1.0)
    assert meter.throttled
    run(scene, meter, seconds=1.5, rate=1.0, start=1.1)
    assert not meter.throttled
