"""Golden bytes of edits, interventions, checkpoints and findings."""

from typing import Any

from stroboscope.debugger_protocol import messages as m

CLIENT: list[tuple[Any, str]] = [
    (
        m.EditState(id=9, scene_id=1, field=m.EditField.CTRL, index=2, values=(0.25, -1.0)),
        "86a474797065aa656469745f7374617465a2696409a87363656e655f696401a56669656c64a46374"
        "726ca5696e64657802a676616c75657392cb3fd0000000000000cbbff0000000000000",
    ),
    (
        m.Perturb(
            id=14,
            scene_id=1,
            body=3,
            kind=m.PerturbKind.FORCE,
            point=(0.0, 0.0, 0.5),
            pos=(1.0, 2.0, 3.0),
        ),
        "88a474797065a770657274757262a269640ea87363656e655f696401a4626f647903a46b696e64a5"
        "666f726365a5706f696e7493cb0000000000000000cb0000000000000000cb3fe0000000000000a3"
        "706f7393cb3ff0000000000000cb4000000000000000cb4008000000000000a47175617494cb3ff0"
        "000000000000cb0000000000000000cb0000000000000000cb0000000000000000",
    ),
    (
        m.ReleasePerturb(id=15, scene_id=1),
        "83a474797065af72656c656173655f70657274757262a269640fa87363656e655f696401",
    ),
    (
        m.OverrideControl(id=16, scene_id=1, index=2, value=0.25),
        "85a474797065b06f766572726964655f636f6e74726f6ca2696410a87363656e655f696401a5696e"
        "64657802a576616c7565cb3fd0000000000000",
    ),
    (
        m.SetControlNoise(id=17, scene_id=1, std=0.1, rate=0.5),
        "85a474797065b17365745f636f6e74726f6c5f6e6f697365a2696411a87363656e655f696401a373"
        "7464cb3fb999999999999aa472617465cb3fe0000000000000",
    ),
    (
        m.EditOption(id=18, scene_id=1, option="timestep", values=(0.001,)),
        "85a474797065ab656469745f6f7074696f6ea2696412a87363656e655f696401a66f7074696f6ea8"
        "74696d6573746570a676616c75657391cb3f50624dd2f1a9fc",
    ),
    (
        m.LoadKeyframe(id=19, scene_id=1, index=0),
        "84a474797065ad6c6f61645f6b65796672616d65a2696413a87363656e655f696401a5696e64657800",
    ),
    (
        m.SaveCheckpoint(id=20, scene_id=1, name="before the grasp"),
        "85a474797065af736176655f636865636b706f696e74a2696414a87363656e655f696401a46e616d"
        "65b06265666f726520746865206772617370a46e6f7465a0",
    ),
    (
        m.RestoreCheckpoint(id=21, scene_id=1, checkpoint_id=4),
        "85a474797065b2726573746f72655f636865636b706f696e74a2696415a87363656e655f696401ad"
        "636865636b706f696e745f696404af736f757263655f7363656e655f6964c0",
    ),
    (
        m.LabelCheckpoint(id=25, scene_id=1, checkpoint_id=4, note="slips here"),
        "86a474797065b06c6162656c5f636865636b706f696e74a2696419a87363656e655f696401ad63"
        "6865636b706f696e745f696404a46e616d65c0a46e6f7465aa736c6970732068657265",
    ),
    (
        m.DropCheckpoint(id=22, scene_id=1, checkpoint_id=4),
        "84a474797065af64726f705f636865636b706f696e74a2696416a87363656e655f696401ad636865"
        "636b706f696e745f696404",
    ),
    (
        m.RevertEdit(id=23, scene_id=1, edit_id=7),
        "84a474797065ab7265766572745f65646974a2696417a87363656e655f696401a7656469745f696407",
    ),
    (
        m.Lint(id=24, scene_id=1),
        "83a474797065a46c696e74a2696418a87363656e655f696401",
    ),
]

SERVER: list[tuple[Any, str]] = [
    (
        m.SceneEdited(scene_id=1, edit_id=7, text="timestep: 0.002 → 0.001 s", axis=18, time=0.012),
        "87a474797065ac7363656e655f656469746564a87363656e655f696401a7656469745f696407a474"
        "657874bb74696d65737465703a20302e30303220e2869220302e3030312073a46178697312a47469"
        "6d65cb3f889374bc6a7efaa87265766572746564c2",
    ),
    (
        m.SceneInterventions(scene_id=1, overrides=((2, 0.25),), perturbed_body=3),
        "86a474797065b37363656e655f696e74657276656e74696f6e73a87363656e655f696401a96f7665"
        "727269646573919202cb3fd0000000000000a96e6f6973655f737464cb0000000000000000aa6e6f"
        "6973655f72617465cb0000000000000000ae7065727475726265645f626f647903",
    ),
    (
        m.SceneCheckpoints(
            scene_id=1,
            checkpoints=(
                m.CheckpointInfo(
                    checkpoint_id=4, name="grasp", axis=18, step_count=9, time=0.012, wall_time=1.5
                ),
            ),
        ),
        "83a474797065b17363656e655f636865636b706f696e7473a87363656e655f696401ab636865636b"
        "706f696e7473918aad636865636b706f696e745f696404a46e616d65a56772617370a46178697312"
        "aa737465705f636f756e7409a474696d65cb3f889374bc6a7efaa977616c6c5f74696d65cb3ff800"
        "0000000000ab617070726f78696d617465a0a66e627974657300a46e6f7465a0a66f726967696ea6"
        "636c69656e74",
    ),
    (
        m.SceneFindings(
            scene_id=1,
            findings=(
                m.Finding(
                    rule="penetration",
                    level=m.LogLevel.WARNING,
                    text="a is in b",
                    advice="move a",
                    elements=(m.ElementRef(kind="geom", index=2, name="a"),),
                ),
            ),
        ),
        "83a474797065ae7363656e655f66696e64696e6773a87363656e655f696401a866696e64696e6773"
        "9185a472756c65ab70656e6574726174696f6ea56c6576656ca77761726e696e67a474657874a961"
        "20697320696e2062a6616476696365a66d6f76652061a8656c656d656e74739183a46b696e64a467"
        "656f6da5696e64657802a46e616d65a161",
    ),
]

# As 1.1 wrote them.

OLD_CLIENT: list[tuple[Any, str]] = [
    (
        m.SaveCheckpoint(id=20, scene_id=1, name="before the grasp"),
        "84a474797065af736176655f636865636b706f696e74a2696414a87363656e655f696401a46e616d"
        "65b06265666f726520746865206772617370",
    ),
    (
        m.RestoreCheckpoint(id=21, scene_id=1, checkpoint_id=4),
        "84a474797065b2726573746f72655f636865636b706f696e74a2696415a87363656e655f696401ad"
        "636865636b706f696e745f696404",
    ),
]

OLD_SERVER: list[tuple[Any, str]] = [
    (
        m.SceneCheckpoints(
            scene_id=1,
            checkpoints=(
                m.CheckpointInfo(
                    checkpoint_id=4, name="grasp", axis=18, step_count=9, time=0.012, wall_time=1.5
                ),
            ),
        ),
        "83a474797065b17363656e655f636865636b706f696e7473a87363656e655f696401ab636865636b"
        "706f696e74739187ad636865636b706f696e745f696404a46e616d65a56772617370a46178697312"
        "aa737465705f636f756e7409a474696d65cb3f889374bc6a7efaa977616c6c5f74696d65cb3ff800"
        "0000000000ab617070726f78696d617465a0",
    ),
]
