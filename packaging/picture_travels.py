"""What a person does before each picture of the timeline, of stops, checkpoints and rollouts."""

from picture_stage import Stage

__all__ = [
    "asked",
    "branches",
    "checkpoints",
    "conditions",
    "curves",
    "environments",
    "episodes",
    "past",
    "slider",
    "stopped",
    "tried",
]


def _press(stage: Stage, name: str) -> None:
    """Do what a key does, and wait until it is done."""
    stage.window.actions_by_name[name].trigger()
    stage.wait("an answer", lambda: not stage.shown().session.pending)


def _go_to(stage: Stage, axis: int) -> None:
    """Look at a row of the past, as a click in the timeline does."""
    stage.window.timeline.strip.chosen.emit(axis)
    stage.wait("the view to be there", lambda: stage.shown().history.view == axis)
    stage.run_events(0.3)


def _play_to_axis(stage: Stage, axis: int) -> None:
    """Play until the scene has taken so many physics steps, and pause."""
    stage.sessions.fast_forward()

    def there() -> bool:
        status = stage.shown().status
        return status is not None and status.axis >= axis

    stage.wait(f"step {axis}", there)
    stage.pause()


def past(stage: Stage) -> None:
    """Look half a second back, with plots: one instant everywhere."""
    stage.attach()
    stage.select("joint", 1)
    stage.plot("qpos", components=2)
    stage.run_events(0.5)
    stage.play(2.0)
    stage.pause()
    _press(stage, "checkpoint")
    stage.play(0.7)
    stage.pause()
    _go_to(stage, stage.shown().history.live - 250)
    stage.run_events(1.5)


def asked(stage: Stage) -> None:
    """Ask before the script's own variables stay as they are."""
    past(stage)
    _press(stage, "continue_here")
    stage.run_events(0.5)


def branches(stage: Stage) -> None:
    """Continue three times from the past, and look at what was left behind."""
    stage.attach()
    _play_to_axis(stage, 600)
    for back, further in ((300, 250), (400, 300), (80, 200)):
        history = stage.shown().history
        _go_to(stage, history.live - back)
        stage.window.commands.time.continue_here(with_script=True, sure=True)
        stage.wait("a branch", lambda h=history: not h.is_away)
        _play_to_axis(stage, stage.shown().history.live + further)
    stage.window.timeline.strip.setFocus()
    _go_to(stage, 520)
    stage.run_events(1.0)


def episodes(stage: Stage) -> None:
    """Look back over 50 episodes."""
    stage.attach()
    stage.sessions.fast_forward()

    def stands() -> bool:
        status = stage.shown().status
        return status is not None and status.held

    stage.wait("50 episodes", stands)
    stage.run_events(0.5)
    _go_to(stage, 3333)
    stage.run_events(1.0)


def stopped(stage: Stage) -> None:
    """Play until the stiff servo has stopped the scene."""
    stage.attach()
    stage.show_scene("Wrist")
    stage.window.panels.show("stops")
    stage.plot("qpos")
    stage.sessions.play()
    stage.wait("a stop", lambda: stage.shown().stops.standing is not None)
    stage.run_events(1.5 * stage.picture.scale**2)


def tried(stage: Stage) -> None:
    """Try two of the offers: ghosts, curves, and the two compared."""
    stopped(stage)
    scene = stage.shown()
    stop = scene.stops.standing
    assert stop is not None
    stage.window.actions_by_name["frame_all"].trigger()
    for label, _ in stop.what_if[:2]:
        scene.trials.start(stop, label)
    stage.wait("two rollouts", lambda: len(scene.rollouts.rollouts) == 2)
    stage.window.panels.show("rollouts")
    stage.wait("a comparison", lambda: stage.window.rollouts.comparison.result is not None)
    stage.run_events(1.5 * stage.picture.scale**2)


def curves(stage: Stage) -> None:
    """Show the curves of what was tried, dashed, from a little before the stop."""
    tried(stage)
    stage.window.panels.show("plots")
    _go_to(stage, stage.shown().history.live - 12)
    stage.run_events(1.5 * stage.picture.scale**2)


def conditions(stage: Stage) -> None:
    """Watch a few conditions, one of which has stopped the scene."""
    from stroboscope.app.models.conditions import SavedCondition

    stage.attach()
    stage.show_scene("Twin")
    scene = stage.shown()
    stage.window.panels.show("stops")
    stage.window.stops.show_conditions()
    for each in (
        SavedCondition(expression="qpos['elbow'] < -0.3", name="too low"),
        SavedCondition(expression="max(abs(change(qvel))) > 10", enabled=False),
        SavedCondition(expression="min(joint.margin) < 0", log_only=True, hits=3),
    ):
        scene.conditions.add(each)
    stage.wait("conditions", lambda: len(scene.conditions.conditions) == 3)
    stage.sessions.play()
    stage.wait("a stop", lambda: scene.stops.standing is not None)
    stage.window.stops.conditions.field.line.setText("max(abs(qvel)) >")
    stage.window.stops.conditions.field.enter()
    stage.run_events(1.5 * stage.picture.scale**2)


def checkpoints(stage: Stage) -> None:
    """Keep three states, compare two of them and show one as a ghost."""
    from stroboscope.app.models.checkpoints import capture, kept_checkpoints

    stage.attach()
    stage.show_scene("Twin")
    scene = stage.shown()
    for seconds, name, note in (
        (0.3, "before the swing", "the elbow begins to move"),
        (0.8, "", ""),
        (0.6, "at the top", ""),
    ):
        stage.play(seconds)
        stage.pause()
        capture(scene, name, note=note)
    stage.wait("checkpoints", lambda: len(scene.edits.checkpoints) == 3)
    panel = stage.window.checkpoints
    stage.window.panels.show("checkpoints")
    stage.run_events(0.5)
    refs = [each.ref for each in kept_checkpoints(scene.session)]
    panel.toggle_ghost(refs[0])
    panel.choose(refs[0], refs[2])
    panel.compare_chosen()
    stage.wait("a comparison", lambda: panel.comparison.result is not None)
    stage.run_events(1.5 * stage.picture.scale**2)


def environments(stage: Stage) -> None:
    """Look at nine of many environments at once."""
    stage.attach()
    stage.play(1.2)
    stage.pause()
    scene = stage.shown()
    scene.environments.show_grid(9)
    stage.wait("a grid", lambda: len(scene.environments.shown) == 9)
    stage.run_events(2.0 * stage.picture.scale**2)


def slider(stage: Stage) -> None:
    """Set joints and controls by hand."""
    stage.attach()
    stage.play(0.5)
    stage.pause()
    stage.window.panels.show("controls")
    stage.run_events(1.5 * stage.picture.scale**2)
