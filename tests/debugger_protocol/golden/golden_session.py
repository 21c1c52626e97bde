"""Golden bytes of a session: handshake, playback, subscriptions, scenes, frames."""

from typing import Any

import numpy as np

from stroboscope.debugger_protocol import messages as m
from stroboscope.debugger_protocol.arrays import pack_arrays
from stroboscope.debugger_protocol.topics import Instant, Topic

NONCE = bytes(range(32))
SESSION = m.SessionInfo(
    session_id="00112233aabbccdd",
    pid=4242,
    script="train.py",
    argv=("--fast",),
    python="3.11.4",
    engine="MuJoCo 4.0.1",
    started=1.5,
)
ENTRIES, BLOB = pack_arrays(
    {"xpos": np.array([[0.0, 0.5, 1.0]]), "geom": np.array([[1, 2]], dtype=np.int32)}
)

CLIENT: list[tuple[Any, str]] = [
    (
        m.ClientHello(major=1, minor=0, nonce=NONCE, capabilities=("run_until",), name="me"),
        "87a474797065ac636c69656e745f68656c6c6fa56d616a6f7201a56d696e6f7200a56e6f6e6365c4"
        "20000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1fac636170616269"
        "6c697469657391a972756e5f756e74696ca76f627365727665c2a46e616d65a26d65",
    ),
    (
        m.ClientProof(proof=NONCE),
        "82a474797065ac636c69656e745f70726f6f66a570726f6f66c420000102030405060708090a0b0c"
        "0d0e0f101112131415161718191a1b1c1d1e1f",
    ),
    (
        m.Play(id=1),
        "83a474797065a4706c6179a2696401a87363656e655f6964c0",
    ),
    (
        m.Pause(id=2, scene_id=1),
        "83a474797065a57061757365a2696402a87363656e655f696401",
    ),
    (
        m.FastForward(id=3),
        "83a474797065ac666173745f666f7277617264a2696403a87363656e655f6964c0",
    ),
    (
        m.SetSpeed(id=4, speed=0.5),
        "83a474797065a97365745f7370656564a2696404a57370656564cb3fe0000000000000",
    ),
    (
        m.HoldAtEnd(id=5, hold=True),
        "83a474797065ab686f6c645f61745f656e64a2696405a4686f6c64c3",
    ),
    (
        m.Step(id=5, scene_id=1, count=10),
        "85a474797065a473746570a2696405a87363656e655f696401a5636f756e740aaf776974685f6465"
        "70656e64656e7473c2",
    ),
    (
        m.PhysicsStep(id=6, scene_id=1),
        "84a474797065ac706879736963735f73746570a2696406a87363656e655f696401a5636f756e7401",
    ),
    (
        m.RunUntil(id=7, scene_id=1, time=2.5),
        "85a474797065a972756e5f756e74696ca2696407a87363656e655f696401a474696d65cb40040000"
        "00000000aa737465705f636f756e74c0",
    ),
    (
        m.RestoreInitial(id=8, scene_id=1),
        "83a474797065af726573746f72655f696e697469616ca2696408a87363656e655f696401",
    ),
    (
        m.RequestControl(id=10),
        "82a474797065af726571756573745f636f6e74726f6ca269640a",
    ),
    (
        m.ReleaseControl(id=11),
        "82a474797065af72656c656173655f636f6e74726f6ca269640b",
    ),
    (
        m.Subscribe(id=12, scene_id=1, topics=(Topic.POSE, Topic.SIGNALS), channels=("qpos",)),
        "86a474797065a9737562736372696265a269640ca87363656e655f696401a6746f7069637392a470"
        "6f7365a77369676e616c73a86368616e6e656c7391a471706f73ab6d61785f726174655f687acb40"
        "4e000000000000",
    ),
    (
        m.Unsubscribe(id=13, scene_id=1, topics=(Topic.SIGNALS,), channels=("qpos",)),
        "85a474797065ab756e737562736372696265a269640da87363656e655f696401a6746f7069637391"
        "a77369676e616c73a86368616e6e656c7391a471706f73",
    ),
    (
        m.AssetRequest(id=300, digest="ab" * 32, offset=70000),
        "84a474797065ad61737365745f72657175657374a26964cd012ca6646967657374d9406162616261"
        "62616261626162616261626162616261626162616261626162616261626162616261626162616261"
        "62616261626162616261626162616261626162a66f6666736574ce00011170",
    ),
    (
        m.Heartbeat(),
        "81a474797065a9686561727462656174",
    ),
    (
        m.Goodbye(reason="closed"),
        "82a474797065a7676f6f64627965a6726561736f6ea6636c6f736564",
    ),
]

SERVER: list[tuple[Any, str]] = [
    (
        m.ServerHello(major=1, minor=0, nonce=NONCE, proof=NONCE),
        "86a474797065ac7365727665725f68656c6c6fa56d616a6f7201a56d696e6f7200a56e6f6e6365c4"
        "20000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1fa570726f6f66c4"
        "20000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1fac636170616269"
        "6c697469657390",
    ),
    (
        m.Welcome(session=SESSION, client_id=3),
        "83a474797065a777656c636f6d65a773657373696f6e87aa73657373696f6e5f6964b03030313132"
        "3233336161626263636464a3706964cd1092a6736372697074a8747261696e2e7079a46172677691"
        "a62d2d66617374a6707974686f6ea6332e31312e34a6656e67696e65ac4d754a6f436f20342e302e"
        "31a773746172746564cb3ff8000000000000a9636c69656e745f696403",
    ),
    (
        m.Done(id=5),
        "82a474797065a4646f6e65a2696405",
    ),
    (
        m.Failed(id=6, kind=m.FailureKind.TIMEOUT, reason="busy: train.py:118"),
        "84a474797065a66661696c6564a2696406a46b696e64a774696d656f7574a6726561736f6eb26275"
        "73793a20747261696e2e70793a313138",
    ),
    (
        m.Goodbye(reason="the script ended"),
        "82a474797065a7676f6f64627965a6726561736f6eb07468652073637269707420656e646564",
    ),
    (
        m.Heartbeat(),
        "81a474797065a9686561727462656174",
    ),
    (
        m.SessionStatus(mode=m.PlaybackMode.PLAYING, speed=2.0, controller=3, clients=2),
        "87a474797065ae73657373696f6e5f737461747573a46d6f6465a7706c6179696e67a57370656564"
        "cb4000000000000000aa636f6e74726f6c6c657203a7636c69656e747302b3667265655f72756e6e"
        "696e675f7363656e657300ab686f6c645f61745f656e64c2",
    ),
    (
        m.ControlChanged(controller=None, reason="client 3 left"),
        "83a474797065af636f6e74726f6c5f6368616e676564aa636f6e74726f6c6c6572c0a6726561736f"
        "6ead636c69656e742033206c656674",
    ),
    (
        m.SceneAdded(scene_id=1, name="Arm", owner="MainThread"),
        "85a474797065ab7363656e655f6164646564a87363656e655f696401a46e616d65a341726da66e5f"
        "656e767301a56f776e6572aa4d61696e546872656164",
    ),
    (
        m.SceneRemoved(scene_id=1),
        "82a474797065ad7363656e655f72656d6f766564a87363656e655f696401",
    ),
    (
        m.SceneRestored(scene_id=1, reason="restored", axis=40, time=0.08),
        "86a474797065ae7363656e655f726573746f726564a87363656e655f696401a6726561736f6ea872"
        "6573746f726564a46178697328a474696d65cb3fb47ae147ae147ba5636f756e7401",
    ),
    (
        m.SceneStatus(
            scene_id=1,
            mode=m.PlaybackMode.PAUSED,
            held=True,
            hold_reason="step",
            step_count=3,
            physics_step_count=6,
            total_steps=9,
            axis=18,
            time=0.012,
            rtf=None,
            throttled=False,
            activity=m.OwnerActivity.PARKED,
            activity_s=0.5,
            location="train.py:7",
        ),
        "de0010a474797065ac7363656e655f737461747573a87363656e655f696401a46d6f6465a6706175"
        "736564a468656c64c3ab686f6c645f726561736f6ea473746570aa737465705f636f756e7403b270"
        "6879736963735f737465705f636f756e7406ab746f74616c5f737465707309a46178697312a47469"
        "6d65cb3f889374bc6a7efaa3727466c0a97468726f74746c6564c2a86163746976697479a6706172"
        "6b6564aa61637469766974795f73cb3fe0000000000000a86c6f636174696f6eaa747261696e2e70"
        "793a37ab77616974696e675f666f72a0",
    ),
    (
        m.Frame(
            scene_id=1,
            topic=Topic.POSE,
            instant=Instant.EXECUTED,
            revision=2,
            axis=18,
            step=9,
            time=0.012,
            dropped=4,
            arrays=ENTRIES,
            blob=BLOB,
            notes=("forces not computed",),
        ),
        "8ca474797065a56672616d65a87363656e655f696401a5746f706963a4706f7365a7696e7374616e"
        "74a86578656375746564a87265766973696f6e02a46178697312a47374657009a474696d65cb3f88"
        "9374bc6a7efaa764726f7070656404a66172726179739294a478706f73a33c66389201030094a467"
        "656f6da33c693492010218a4626c6f62c4200000000000000000000000000000e03f000000000000"
        "f03f0100000002000000a56e6f74657391b3666f72636573206e6f7420636f6d7075746564",
    ),
    (
        m.AssetChunk(id=300, digest="ab" * 32, offset=0, total=4, data=b"mesh"),
        "86a474797065ab61737365745f6368756e6ba26964cd012ca6646967657374d94061626162616261"
        "62616261626162616261626162616261626162616261626162616261626162616261626162616261"
        "6261626162616261626162616261626162a66f666673657400a5746f74616c04a464617461c4046d"
        "657368",
    ),
    (
        m.LogEntry(level=m.LogLevel.WARNING, text="diverged", wall_time=1.5, scene_id=1),
        "89a474797065a96c6f675f656e747279a56c6576656ca77761726e696e67a474657874a864697665"
        "72676564a977616c6c5f74696d65cb3ff8000000000000a87363656e655f696401a461786973c0a4"
        "74696d65c0a6736f75726365a0a76368616e6e656ca0",
    ),
    (
        m.LogEntry(
            level=m.LogLevel.INFO,
            text="phase: grasp",
            wall_time=1.5,
            scene_id=1,
            axis=7,
            time=0.25,
            channel="phase",
        ),
        "89a474797065a96c6f675f656e747279a56c6576656ca4696e666fa474657874ac70686173653a20"
        "6772617370a977616c6c5f74696d65cb3ff8000000000000a87363656e655f696401a46178697307"
        "a474696d65cb3fd0000000000000a6736f75726365a0a76368616e6e656ca57068617365",
    ),
]

# Without the name under which a script has logged it.
OLD_SERVER: list[tuple[Any, str]] = [
    (
        m.LogEntry(level=m.LogLevel.WARNING, text="diverged", wall_time=1.5, scene_id=1),
        "88a474797065a96c6f675f656e747279a56c6576656ca77761726e696e67a474657874a864697665"
        "72676564a977616c6c5f74696d65cb3ff8000000000000a87363656e655f696401a461786973c0a4"
        "74696d65c0a6736f75726365a0",
    ),
]

# Without slider-cranks, rays and frusta; without trees and the materials of flexes, as the first of
# version 1 wrote it.
