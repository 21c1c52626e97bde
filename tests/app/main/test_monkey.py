"""A monkey at the real window while real scenes play: nothing raises, leaks, hangs or is lost.

``STROBOSCOPE_MONKEY_SEEDS="7 8"`` and ``STROBOSCOPE_MONKEY_ACTIONS=1000`` choose what it does.
"""

import gc
import os
from pathlib import Path

import pytest
from monkey import Ears, Monkey, stub_exits
from PySide6.QtWidgets import QApplication

from stroboscope.app.main.action_table import ACTIONS as ACTIONS_OF_THE_WINDOW
from stroboscope.app.main.garbage import GarbageCollector
from stroboscope.app.main.view_grid import Arrangement
from stroboscope.app.models.log import LogModel
from stroboscope.app.models.session_finder import find_sessions
from stroboscope.app.models.sessions import Scope
from stroboscope.debugger_protocol.messages import LogLevel, OwnerActivity, PlaybackMode

pytest.importorskip("mujoco")

SCRIPT = Path(__file__).with_name("monkey_process.py")
ACTIONS = int(os.environ.get("STROBOSCOPE_MONKEY_ACTIONS", "0"))
SOAK_ROUNDS, SOAK_SEEDS = 2, 3
GROWTH_KIB = 150 << 10
SEEDS = tuple(map(int, os.environ.get("STROBOSCOPE_MONKEY_SEEDS", "").split()))


class Playground:
    """A window, an application, and the monkey between them."""

    def __init__(self, desktop, warm_process, wait_until, monkeypatch, folder):
        self.desktop, self.wait_until = desktop, wait_until
        self._warm, self._monkeypatch, self._folder = warm_process, monkeypatch, folder
        self.process = None

    def start(self, *arguments):
        self.process = self._warm.run(SCRIPT, *map(str, arguments))
        self.wait_until(lambda: find_sessions()[0], 60)
        self.come_back()

    def come_back(self):
        """Show the application, whatever happened to it in the window."""
        sessions = self.desktop.sessions
        if sessions.shown is None or sessions.shown.is_stale:
            self.wait_until(lambda: find_sessions()[0], 30)
            for found in find_sessions()[0]:
                sessions.open(found.path)
        self.wait_until(lambda: sessions.shown is not None and not sessions.shown.gone, 30)
        self.wait_until(lambda: sessions.shown.description is not None, 30)
        self.wait_until(lambda: sessions.shown.status is not None, 30)

    def play(self, seed, actions):
        """Let the monkey act; fail with what it did last when something was heard."""
        print(f"monkey: seed {seed}, {actions} actions")
        window = self.desktop.window
        monkey = Monkey(self.desktop, seed=seed, folder=self._folder)
        with Ears(self.desktop.log) as ears, self._monkeypatch.context() as patch:
            stub_exits(patch, window, monkey.random, self._folder)
            try:
                monkey.act(actions, stop=lambda: ears.heard, deadline_s=max(60, actions / 5))
            finally:
                print(f"slowest: {monkey.slowest}")
        if ears.heard:
            did = "\n  ".join(monkey.done)
            pytest.fail(f"seed {seed}, after\n  {did}\nit was heard:\n" + "\n".join(ears.heard))
        return monkey

    def size(self):
        """Return the memory that this process keeps [KiB], at a usual size of the window."""
        window = self.desktop.window
        window.showNormal()
        window.resize(1280, 720)
        window.arrange_views(Arrangement.ONE)
        window.panels.reset()
        self.come_back()
        self.wait_until(lambda: len(window.scene_view.grid.views) == 1)
        gc.collect()
        # Whatever was freed: else it goes by what the C library happens to keep.
        QApplication.instance().findChild(GarbageCollector).freed.give_back()
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))

    def _stands(self):
        """Whether the thread of the shown scene waits for what it is told."""
        scene = self.desktop.sessions.shown
        stands = scene.status is not None and scene.status.activity is OwnerActivity.PARKED
        return stands and scene.mode is PlaybackMode.PAUSED and not scene.session.pending

    def step_once(self):
        """Prove that the application is still there and does what it is told."""
        sessions = self.desktop.sessions
        assert self.process.poll() is None, "the script has ended: what it said is above"
        self.come_back()
        scene = sessions.shown
        if not scene.session.has_control:
            sessions.take_control()
            self.wait_until(lambda: scene.session.has_control)
        # A scene alone takes its pause with it when it is replaced at that moment.
        sessions.set_scope(Scope.ALL)
        sessions.pause()
        try:
            self.wait_until(self._stands, 30)
        except pytest.fail.Exception:
            scene = sessions.shown
            print(f"it does not stand: {scene.status}, open: {scene.session.pending}")
            raise
        scene = sessions.shown
        before = scene.status.total_steps
        # Scenes of one thread wait for each other.
        sessions.step(with_dependents=True)
        self.wait_until(lambda: scene.status.total_steps > before, 30)


@pytest.fixture
def playground(desktop, warm_process, wait_until, monkeypatch, own_folders):
    ground = Playground(desktop, warm_process, wait_until, monkeypatch, own_folders)
    yield ground
    if ground.process is not None:
        ground.process.kill()
        ground.process.wait()
    for left in (own_folders / "runtime").glob("session-*.json"):
        left.unlink()


@pytest.fixture
def model(repository, robot_model):
    """``model("arm")``: the file of a model by the name of a scene."""
    found = {
        "arm": repository / "resources" / "models" / "arm.xml",
        "humanoid": repository / "resources" / "models" / "humanoid.xml",
        "empty": repository / "resources" / "models" / "empty.xml",
        "elements": repository / "tests" / "engine" / "every_element.xml",
    }
    return lambda name: found[name] if name in found else robot_model(name)


@pytest.mark.timeout(400)
@pytest.mark.parametrize("seed", SEEDS or (1,))
def test_two_hundred_random_actions_break_nothing(playground, model, seed):
    playground.start(model("elements"))
    playground.play(seed, ACTIONS or 200)
    playground.step_once()


@pytest.mark.timeout(400)
def test_a_monkey_hears_an_exception_that_only_a_click_meets(playground, model, monkeypatch):
    playground.start(model("arm"))
    actions = playground.desktop.window.actions_by_name
    # Every entry of every menu may fail; the monkey must meet one of them and say which.
    for spec in ACTIONS_OF_THE_WINDOW:
        actions[spec.name].triggered.connect(lambda _=False: 1 / 0)
    with pytest.raises(pytest.fail.Exception, match="ZeroDivisionError"):
        playground.play(3, 200)


def test_a_file_that_the_monkey_wants_in_vain_is_no_failure(qapp, own_folders):
    log = LogModel()
    missing = own_folders / "no such folder" / "c.png"
    with Ears(log) as ears:
        try:
            missing.write_bytes(b"")
        except OSError as error:
            log.add(LogLevel.ERROR, f"The picture can't be written: {error}")
        assert ears.heard == []
        log.add(LogLevel.ERROR, "This window has a bug: ZeroDivisionError")
    assert len(ears.heard) == 1


@pytest.mark.slow
@pytest.mark.timeout(1700)
@pytest.mark.parametrize("round_", range(SOAK_ROUNDS))
@pytest.mark.parametrize(
    ("scene", "options"),
    [
        ("elements", ()),
        ("arm", ()),
        ("humanoid", ("--swap", "arm")),
        ("g1", ()),
        ("empty", ()),
        ("humanoid", ("--scenes", "64")),
    ],
)
def test_a_thousand_random_actions_break_and_leak_nothing(
    playground, model, scene, options, round_
):
    options = [model(word) if word == "arm" else word for word in options]
    playground.start(model(scene), *options)
    for seed in SEEDS or range(1000 * round_, 1000 * round_ + SOAK_SEEDS):
        count = ACTIONS or 1000
        playground.play(seed, count // 2)
        settled = playground.size()
        playground.play(seed + 500_000, count - count // 2)
        grown = playground.size() - settled
        assert grown < GROWTH_KIB, f"seed {seed}: {grown} KiB more"
        playground.step_once()
