"""Golden bytes: one message of every type, as it has to look on the wire for all of version 1.

When reading one of these fails, the change breaks clients of others: edit the change,
not the bytes. A new field with a default changes what is written; then add its bytes beside the old
ones, which must still be read.
"""

import re
from pathlib import Path
from typing import Any, get_args

import msgspec
import numpy as np
import pytest

from stroboscope.debugger_protocol import handshake, version
from stroboscope.debugger_protocol import messages as m
from stroboscope.debugger_protocol import scene_description as d
from stroboscope.debugger_protocol import window_messages as w
from stroboscope.debugger_protocol.arrays import (
    asset_bytes,
    asset_digest,
    pack_arrays,
    unpack_arrays,
)
from stroboscope.debugger_protocol.codec import client_codec, server_codec
from stroboscope.debugger_protocol.handshake import (
    Endpoint,
    HandshakeContext,
    Role,
    make_proof,
)
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.topics import Instant, Topic
from stroboscope.debugger_protocol.window_messages import window_dialect

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "protocol.md"
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
DESCRIPTION = d.SceneDescription(
    scene_id=1,
    name="Arm",
    revision=2,
    bodies=(d.BodyInfo(name="world", parent=0),),
    tendons=(d.TendonInfo(name="cable", range=(0.0, 1.0), sites=(0, 1)),),
    equalities=(d.EqualityInfo(name="pin", kind="connect", object1=0),),
    pairs=(d.PairInfo(name="chosen", geom1=0, geom2=1),),
    flexes=(d.FlexInfo(name="rope", digest="ab" * 32, dim=1, vert=0, nvert=2, radius=0.5),),
    skins=(d.SkinInfo(name="coat", digest="cd" * 32, nvert=3, nface=1),),
    keyframes=(d.KeyframeInfo(name="bent", time=1.5),),
    options=(d.OptionInfo(name="timestep", kind=d.OptionKind.NUMBER, unit="s", minimum=0.0),),
)

CLIENT_MESSAGES: list[tuple[Any, str]] = [
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
        m.EditState(id=9, scene_id=1, field=m.EditField.CTRL, index=2, values=(0.25, -1.0)),
        "86a474797065aa656469745f7374617465a2696409a87363656e655f696401a56669656c64a46374"
        "726ca5696e64657802a676616c75657392cb3fd0000000000000cbbff0000000000000",
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
        "84a474797065af736176655f636865636b706f696e74a2696414a87363656e655f696401a46e616d"
        "65b06265666f726520746865206772617370",
    ),
    (
        m.RestoreCheckpoint(id=21, scene_id=1, checkpoint_id=4),
        "84a474797065b2726573746f72655f636865636b706f696e74a2696415a87363656e655f696401ad"
        "636865636b706f696e745f696404",
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
    (
        m.Heartbeat(),
        "81a474797065a9686561727462656174",
    ),
    (
        m.Goodbye(reason="closed"),
        "82a474797065a7676f6f64627965a6726561736f6ea6636c6f736564",
    ),
]

SERVER_MESSAGES: list[tuple[Any, str]] = [
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
        "86a474797065ae73657373696f6e5f737461747573a46d6f6465a7706c6179696e67a57370656564"
        "cb4000000000000000aa636f6e74726f6c6c657203a7636c69656e747302b3667265655f72756e6e"
        "696e675f7363656e657300",
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
        m.SceneDescribed(description=DESCRIPTION),
        "82a474797065af7363656e655f646573637269626564ab6465736372697074696f6ede002ba87363"
        "656e655f696401a46e616d65a341726da87265766973696f6e02a6656e67696e65a0a6736f757263"
        "65a0a874696d6573746570cb0000000000000000a76772617669747993cb0000000000000000cb00"
        "00000000000000cbc0239eb851eb851fa66e5f656e767301a663656e74657293cb00000000000000"
        "00cb0000000000000000cb0000000000000000a6657874656e74cb3ff0000000000000a57a6e6561"
        "72c0a47a666172c0b1686561646c696768745f616d6269656e7493cb3fb999999999999acb3fb999"
        "999999999acb3fb999999999999ab1686561646c696768745f6469666675736593cb3fd999999999"
        "999acb3fd999999999999acb3fd999999999999ab2686561646c696768745f73706563756c617293"
        "cb3fe0000000000000cb3fe0000000000000cb3fe0000000000000ae63616d6572615f617a696d75"
        "7468cb4056800000000000b063616d6572615f656c65766174696f6ecbc046800000000000ac7469"
        "6d65725f73746167657390b0636f6e73747261696e745f747970657390b1636f6e73747261696e74"
        "5f73746174657390b0686561646c696768745f616374697665c3a57363616c65de0011a86d65616e"
        "73697a65cb3fb999999999999aa86d65616e6d617373cb3ff0000000000000a5666f726365cb3f74"
        "7ae147ae147ba6746f72717565cb3fb999999999999aaa666f7263657769647468cb3fb999999999"
        "999aac636f6e746163747769647468cb3fd3333333333333ad636f6e74616374686569676874cb3f"
        "b999999999999aa7636f6e6e656374cb3fc999999999999aa3636f6dcb3fd999999999999aab6a6f"
        "696e746c656e677468cb3ff0000000000000aa6a6f696e747769647468cb3fb999999999999aae61"
        "63747561746f726c656e677468cb3fe6666666666666ad6163747561746f727769647468cb3fc999"
        "999999999aab6672616d656c656e677468cb3ff0000000000000aa6672616d657769647468cb3fb9"
        "99999999999aaa636f6e73747261696e74cb3fb999999999999aab736c696465726372616e6bcb3f"
        "c999999999999aa6626f64696573918ba46e616d65a5776f726c64a6706172656e7400a46d617373"
        "cb0000000000000000a7696e657274696193cb0000000000000000cb0000000000000000cb000000"
        "0000000000a469706f7393cb0000000000000000cb0000000000000000cb0000000000000000a569"
        "7175617494cb3ff0000000000000cb0000000000000000cb0000000000000000cb00000000000000"
        "00a56d6f636170c2ab6d6f6361705f696e646578ffac737562747265655f6d617373cb0000000000"
        "000000a477656c64ffa867726176636f6d70cb0000000000000000a567656f6d7390a66d65736865"
        "7390a7686669656c647390a8746578747572657390a96d6174657269616c7390a66a6f696e747390"
        "a5736974657390a763616d6572617390a66c696768747390a96163747561746f727390a773656e73"
        "6f727390a774656e646f6e73918ea46e616d65a56361626c65a77370617469616cc3a57769647468"
        "cb3f689374bc6a7efaa47267626194cb3fe0000000000000cb3fe0000000000000cb3fe000000000"
        "0000cb3ff0000000000000a86d6174657269616cffa567726f757000a572616e676592cb00000000"
        "00000000cb3ff0000000000000a66d617267696ecb0000000000000000a973746966666e657373cb"
        "0000000000000000a764616d70696e67cb0000000000000000ac6672696374696f6e6c6f7373cb00"
        "00000000000000ac6c656e677468737072696e6792cb0000000000000000cb0000000000000000a6"
        "6a6f696e747390a57369746573920001aa657175616c69746965739188a46e616d65a370696ea46b"
        "696e64a7636f6e6e656374ab6f626a6563745f6b696e64a4626f6479a76f626a6563743100a76f62"
        "6a65637432ffa6616374697665c3a6736f6c72656692cb3f947ae147ae147bcb3ff0000000000000"
        "a6736f6c696d7095cb3feccccccccccccdcb3fee666666666666cb3f50624dd2f1a9fccb3fe00000"
        "00000000cb4000000000000000a570616972739183a46e616d65a663686f73656ea567656f6d3100"
        "a567656f6d3201a6666c65786573918aa46e616d65a4726f7065a6646967657374d9406162616261"
        "62616261626162616261626162616261626162616261626162616261626162616261626162616261"
        "62616261626162616261626162616261626162a364696d01a47665727400a56e7665727402a67261"
        "64697573cb3fe0000000000000a47267626194cb3fe0000000000000cb3fe0000000000000cb3fe0"
        "000000000000cb3ff0000000000000a86d6174657269616cffa8666c6174736b696ec2a567726f75"
        "7000a5736b696e739188a46e616d65a4636f6174a6646967657374d9406364636463646364636463"
        "64636463646364636463646364636463646364636463646364636463646364636463646364636463"
        "64636463646364636463646364a56e7665727403a56e6661636501a47267626194cb3fe000000000"
        "0000cb3fe0000000000000cb3fe0000000000000cb3ff0000000000000a86d6174657269616cffa7"
        "696e666c617465cb0000000000000000a567726f757000a96b65796672616d65739182a46e616d65"
        "a462656e74a474696d65cb3ff8000000000000a76f7074696f6e739188a46e616d65a874696d6573"
        "746570a46b696e64a66e756d626572a5776964746801a4756e6974a173a763686f6963657390a76d"
        "696e696d756dcb0000000000000000a76d6178696d756dc0a3746970a0a86368616e6e656c7390a5"
        "6e6f74657390",
    ),
    (
        m.SceneChannels(
            scene_id=1, channels=(d.ChannelInfo(name="reward", kind=d.ChannelKind.USER),)
        ),
        "83a474797065ae7363656e655f6368616e6e656c73a87363656e655f696401a86368616e6e656c73"
        "9186a46e616d65a6726577617264a5776964746801a56e616d657390a4756e6974a0a5756e697473"
        "90a46b696e64a475736572",
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
        "706f696e74739187ad636865636b706f696e745f696404a46e616d65a56772617370a46178697312"
        "aa737465705f636f756e7409a474696d65cb3f889374bc6a7efaa977616c6c5f74696d65cb3ff800"
        "0000000000ab617070726f78696d617465a0",
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
        "88a474797065a96c6f675f656e747279a56c6576656ca77761726e696e67a474657874a864697665"
        "72676564a977616c6c5f74696d65cb3ff8000000000000a87363656e655f696401a461786973c0a4"
        "74696d65c0a6736f75726365a0",
    ),
]

WINDOW_MESSAGES: list[tuple[Any, str]] = [
    (
        w.OpenSession(id=1, session_id="00112233aabbccdd"),
        "83a474797065ac6f70656e5f73657373696f6ea2696401aa73657373696f6e5f6964b03030313132"
        "3233336161626263636464",
    ),
    (
        w.Focus(id=2),
        "82a474797065a5666f637573a2696402",
    ),
    (
        w.Ping(id=3),
        "82a474797065a470696e67a2696403",
    ),
    (
        w.Screenshot(id=4),
        "82a474797065aa73637265656e73686f74a2696404",
    ),
    (
        w.WindowStatusRequest(id=5),
        "82a474797065b577696e646f775f7374617475735f72657175657374a2696405",
    ),
    (
        w.Picture(id=4, png=b"PNG"),
        "83a474797065a770696374757265a2696404a3706e67c403504e47",
    ),
    (
        w.WindowStatus(
            id=5, pid=4242, sessions=(w.WindowSession(session_id="00112233aabbccdd", pid=7),)
        ),
        "84a474797065ad77696e646f775f737461747573a2696405a3706964cd1092a873657373696f6e73"
        "9184aa73657373696f6e5f6964b030303131323233336161626263636464a6736372697074a0a370"
        "696407a9636f6e6e6563746564c3",
    ),
]
ALL = [*CLIENT_MESSAGES, *SERVER_MESSAGES, *WINDOW_MESSAGES]
LIMITS = Limits()
WINDOW = window_dialect(LIMITS)


def tag(message: Any) -> str:
    return str(message.__struct_config__.tag)


@pytest.mark.parametrize(("message", "golden"), ALL, ids=[tag(message) for message, _ in ALL])
def test_a_message_has_its_golden_bytes(message, golden):
    assert msgspec.msgpack.encode(message).hex() == golden


@pytest.mark.parametrize(("message", "golden"), ALL, ids=[tag(message) for message, _ in ALL])
def test_golden_bytes_are_read_as_their_message(message, golden):
    if message in [each for each, _ in CLIENT_MESSAGES]:
        codec = client_codec(LIMITS)
    elif message in [each for each, _ in SERVER_MESSAGES]:
        codec = server_codec(LIMITS)
    elif tag(message) in ("picture", "window_status"):
        codec = WINDOW.server
    else:
        codec = WINDOW.client
    assert codec.decode(bytes.fromhex(golden)) == message


def test_every_type_of_message_has_golden_bytes():
    for union, golden in (
        (m.ClientMessage, CLIENT_MESSAGES),
        (m.ServerMessage, SERVER_MESSAGES),
        (w.WindowClientMessage | w.WindowServerMessage, [*ALL]),
    ):
        assert {tag(t) for t in get_args(union)} <= {tag(message) for message, _ in golden}


def test_arrays_have_their_golden_bytes():
    assert [tuple(msgspec.structs.astuple(entry)) for entry in ENTRIES] == [
        ("xpos", "<f8", (1, 3), 0),
        ("geom", "<i4", (1, 2), 24),
    ]
    assert BLOB.hex() == "0000000000000000000000000000e03f000000000000f03f0100000002000000"
    assert unpack_arrays(ENTRIES, BLOB)["geom"].tolist() == [[1, 2]]


def test_an_asset_has_its_golden_bytes_and_digest():
    data = asset_bytes({"data": np.array([1, 2, 3], dtype=np.uint8)})
    assert data.hex() == "929194a464617461a37c7531910300c4080102030000000000"
    assert asset_digest(data) in DOCUMENT.read_text()


# --- the specification says what the code does

SECRET = bytes(range(0x40, 0x60))
CONTEXT = HandshakeContext(
    endpoint=Endpoint.SESSION,
    client_nonce=bytes(range(0x20)),
    server_nonce=bytes(range(0x20, 0x40)),
    port=54321,
    client_version=(1, 0),
    server_version=(1, 0),
)


@pytest.fixture(scope="module")
def document() -> str:
    return DOCUMENT.read_text()


def test_the_worked_handshake_of_the_document_is_what_the_code_computes(document):
    assert SECRET.hex() in document
    assert CONTEXT.client_nonce.hex() in document
    assert CONTEXT.server_nonce.hex() in document
    server = make_proof(SECRET, Role.SERVER, CONTEXT)
    client = make_proof(SECRET, Role.CLIENT, CONTEXT)
    assert server.hex() == "bb552bde1ad2067801eaaf1e6346c3c8224109f9fb456d5b59b08ac7c1269975"
    assert client.hex() == "787a3d027843f35d3d38b4b4b5cdd35563ac1258ef1ccc49a7f72cb7ddc7ca19"
    assert server.hex() in document
    assert client.hex() in document


def test_the_worked_handshake_can_be_computed_from_the_document_alone(document):
    """As a reader of the document would: label, lengths, HMAC from the standard library."""
    import hashlib
    import hmac

    fields = [
        b"stroboscope-handshake-1",
        b"session",
        b"client",
        *(bytes.fromhex(x) for x in re.findall(r"nonce `([0-9a-f]{64})`", document)[:2]),
        b"54321",
        b"1.0",
        b"1.0",
    ]
    data = b"".join(len(field).to_bytes(4, "big") + field for field in fields)
    proof = hmac.new(SECRET, data, hashlib.sha256).hexdigest()
    assert f"client proof `{proof}`" in document
    assert handshake.NONCE_BYTES == 32


@pytest.mark.parametrize(
    "union", [m.ClientMessage, m.ServerMessage, w.WindowClientMessage, w.WindowServerMessage]
)
def test_every_message_and_field_is_in_the_document(document, union):
    for kind in get_args(union):
        assert f"`{kind.__struct_config__.tag}`" in document, kind
        for field in kind.__struct_fields__:
            assert f"`{field}`" in document, f"{kind.__name__}.{field}"


def test_every_field_of_a_description_is_in_the_document(document):
    for name in d.__all__:
        kind = getattr(d, name)
        for field in getattr(kind, "__struct_fields__", ()):
            assert f"`{field}`" in document, f"{name}.{field}"


def test_every_value_of_every_closed_set_is_in_the_document(document):
    enums = [
        m.PlaybackMode,
        m.EditField,
        m.PerturbKind,
        m.FailureKind,
        m.OwnerActivity,
        m.LogLevel,
        Topic,
    ]
    enums += [Instant, d.GeomType, d.JointType, d.CameraMode, d.TextureKind, d.ChannelKind]
    for kind in enums:
        for member in kind:
            assert f"`{member.value}`" in document, f"{kind.__name__}.{member.name}"


def test_every_limit_is_in_the_document_with_its_value(document):
    limits = Limits()
    for name in Limits.__dataclass_fields__:
        value = getattr(limits, name)
        shown = f"{value:,}" if isinstance(value, int) else f"{value:g}"
        assert f"| `{name}` | {shown} |" in document, name


def test_every_capability_is_in_the_document(document):
    for capability in (*version.CAPABILITIES, version.RELAY):
        assert f"`{capability}`" in document
    assert f"version {version.PROTOCOL_MAJOR}.{version.PROTOCOL_MINOR}" in document
