"""Mutated messages into both sides of a session: nothing but documented errors may come out.

A few thousand per side in an ordinary run, always the same; with STROBOSCOPE_FUZZ_FACTOR 20,000
times that, and every run has another seed, which a failure names; STROBOSCOPE_FUZZ_SEED repeats it.
"""

import os
import random
from typing import Any

import msgspec
import numpy as np
import pytest

from stroboscope.debugger_protocol import messages as m
from stroboscope.debugger_protocol import window_messages as w
from stroboscope.debugger_protocol.arrays import pack_arrays, parse_asset, unpack_arrays
from stroboscope.debugger_protocol.exceptions import ProtocolError
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.scene_description import (
    ActuatorInfo,
    BodyInfo,
    ChannelInfo,
    GeomInfo,
    GeomType,
    JointInfo,
    JointType,
    SceneDescription,
)
from stroboscope.debugger_protocol.sessions import (
    ClientSession,
    Opened,
    ServerSession,
    SessionState,
    debugger_dialect,
)
from stroboscope.debugger_protocol.topics import Instant, Topic
from stroboscope.debugger_protocol.window_messages import window_dialect

MESSAGES = int(20_000 * float(os.environ.get("STROBOSCOPE_FUZZ_FACTOR", "0.2")))
SECRET = b"s" * 32
LIMITS = Limits()
INFO = m.SessionInfo(session_id="abc", pid=7)

ENTRIES, BLOB = pack_arrays({"axis": np.arange(4), "qpos": np.zeros((4, 2))})
CLIENT_MESSAGES = [
    m.ClientHello(major=1, minor=0, nonce=bytes(32), name="me"),
    m.ClientProof(proof=bytes(32)),
    m.Play(id=1),
    m.Pause(id=1, scene_id=1),
    m.SetSpeed(id=1, speed=0.5),
    m.Step(id=1, scene_id=1, count=10),
    m.RunUntil(id=1, scene_id=1, time=2.5, step_count=3),
    m.EditState(id=1, scene_id=1, field=m.EditField.CTRL, index=2, values=(0.25, -1.0)),
    m.Perturb(
        id=14,
        scene_id=1,
        body=3,
        kind=m.PerturbKind.FORCE,
        point=(0.0, 0.0, 0.5),
        pos=(1.0, 2.0, 3.0),
    ),
    m.ReleasePerturb(id=15, scene_id=1),
    m.OverrideControl(id=16, scene_id=1, index=2, value=0.25),
    m.SetControlNoise(id=17, scene_id=1, std=0.1, rate=0.5),
    m.EditOption(id=18, scene_id=1, option="timestep", values=(0.001,)),
    m.LoadKeyframe(id=19, scene_id=1, index=0),
    m.SaveCheckpoint(id=20, scene_id=1, name="before the grasp"),
    m.RestoreCheckpoint(id=21, scene_id=1, checkpoint_id=4),
    m.DropCheckpoint(id=22, scene_id=1, checkpoint_id=4),
    m.RevertEdit(id=23, scene_id=1, edit_id=7),
    m.Lint(id=24, scene_id=1),
    m.Subscribe(id=1, scene_id=1, topics=(Topic.POSE, Topic.SIGNALS), channels=("qpos",)),
    m.AssetRequest(id=1, digest="ab" * 32, offset=70_000),
    m.Heartbeat(),
    m.Goodbye(reason="closed"),
    w.OpenSession(id=1, session_id="x"),
    w.Screenshot(id=1),
]
DESCRIPTION = SceneDescription(
    scene_id=1,
    name="Arm",
    bodies=(BodyInfo(name="world", parent=0),),
    geoms=(GeomInfo(name="g", body=0, type=GeomType.BOX, size=(1.0, 1.0, 1.0)),),
    joints=(JointInfo(name="j", body=0, type=JointType.HINGE, qpos=0, dof=0, range=(0.0, 1.0)),),
    actuators=(ActuatorInfo(name="a", ctrlrange=(-1.0, 1.0)),),
    channels=(ChannelInfo(name="qpos", width=2, names=("x", "y")),),
)
SERVER_MESSAGES = [
    m.ServerHello(major=1, minor=0, nonce=bytes(32), proof=bytes(32)),
    m.Welcome(session=INFO, client_id=1),
    m.Done(id=1),
    m.Failed(id=2, kind=m.FailureKind.REFUSED, reason="no"),
    m.SessionStatus(mode=m.PlaybackMode.PAUSED, speed=1.0, controller=1, clients=1),
    m.ControlChanged(controller=None, reason="left"),
    m.SceneAdded(scene_id=1, name="Arm"),
    m.SceneDescribed(description=DESCRIPTION),
    m.SceneChannels(scene_id=1, channels=(ChannelInfo(name="reward"),)),
    m.SceneRestored(scene_id=1, reason="reset", axis=3, time=float("nan")),
    m.SceneEdited(scene_id=1, edit_id=7, text="timestep: 0.002 → 0.001 s", axis=18, time=0.012),
    m.SceneInterventions(scene_id=1, overrides=((2, 0.25),), perturbed_body=3),
    m.SceneCheckpoints(
        scene_id=1,
        checkpoints=(
            m.CheckpointInfo(
                checkpoint_id=4, name="grasp", axis=18, step_count=9, time=0.012, wall_time=1.5
            ),
        ),
    ),
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
    m.Frame(
        scene_id=1,
        topic=Topic.SIGNALS,
        instant=Instant.EXECUTED,
        revision=0,
        axis=4,
        step=4,
        time=0.0,
        dropped=0,
        arrays=ENTRIES,
        blob=BLOB,
    ),
    m.AssetChunk(id=3, digest="ab", offset=0, total=4, data=b"mesh"),
    m.LogEntry(level=m.LogLevel.INFO, text="hello", wall_time=0.0),
    m.Heartbeat(),
    m.Goodbye(reason="bye"),
    w.Picture(id=4, png=b"PNG"),
    w.WindowStatus(id=5, pid=7, sessions=(w.WindowSession(session_id="x"),)),
]

# --- mutations

INTERESTING = [
    *(b"\xc0", b"\xc1", b"\xc2", b"\xca", b"\xcb", b"\xcf", b"\xd3", b"\xff", b"\x00", b"\x80"),
    *(b"\xdd\xff\xff\xff\xff", b"\xdf\x7f\xff\xff\xff", b"\xdb\xff\xff\xff\xff", b"\xc6\xff\xff"),
    *(b"\xd9\xff", b"\xda\xff\xff", b"\x91" * 40, b"\x81\xa0" * 20, b"\xd6\xff\x00\x00\x00\x00"),
    *(b"\xcb\x7f\xf8\0\0\0\0\0\0", b"\xcb\x7f\xf0\0\0\0\0\0\0", b"\xa1\xff", b"\xa2\xc3\x28"),
    b"\x91" * 5000,
]
VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2**31, 2**53, 2**63 - 1, 2**63, 2**64 - 1, -(2**63)),
    *(0.0, -0.0, 1e308, -1e-308, float("nan"), float("inf"), float("-inf")),
    *("", "x", "ü" * 200, "play", "a" * 5000, b"", b"\0" * 32, b"x" * 300),
    *([], {}, [[]], [[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]], {"a": {"b": {}}}, {1: 2}),
    *([["x", "<f8", [2**62, 2**62], 0]], [["x", "|O", [1], 0]], [0.5] * 50, ["pose", "nonsense"]),
]


def mutate(rng: random.Random, data: bytes, corpus: list[bytes]) -> bytes:
    """Return ``data`` changed in one to four ways."""
    for _ in range(rng.randint(1, 4)):
        position = rng.randrange(len(data) + 1)
        kind = rng.randrange(8)
        if kind == 0 and position < len(data):
            data = (
                data[:position]
                + bytes([data[position] ^ 1 << rng.randrange(8)])
                + data[position + 1 :]
            )
        elif kind == 1:
            data = data[:position] + rng.choice(INTERESTING) + data[position:]
        elif kind == 2:
            insert = rng.choice(INTERESTING)
            data = data[:position] + insert + data[position + len(insert) :]
        elif kind == 3:
            data = data[:position]
        elif kind == 4:
            other = rng.choice(corpus)
            data = data[:position] + other[rng.randrange(len(other)) :]
        elif kind == 5:
            end = min(len(data), position + rng.randint(1, 16))
            data = data[:position] + data[end:]
        elif kind == 6:
            data = data[:position] + rng.randbytes(rng.randint(1, 8)) + data[position:]
        else:
            data = change_value(rng, data)
    return data


def change_value(rng: random.Random, data: bytes) -> bytes:
    """Return the message with another value, key or type somewhere, when it still is one."""
    try:
        value = msgspec.msgpack.decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return data
    if not isinstance(value, dict) or not value:
        return msgspec.msgpack.encode(rng.choice(VALUES))
    holder: Any = value
    while True:
        key = rng.choice(list(holder)) if isinstance(holder, dict) else rng.randrange(len(holder))
        inner = holder[key]
        if isinstance(inner, dict | list) and inner and rng.random() < 0.7:
            holder = inner
            continue
        break
    action = rng.randrange(4)
    if action == 0 and isinstance(holder, dict):
        del holder[key]
    elif action == 1 and isinstance(holder, dict):
        holder[rng.choice(["type", "id", "scene_id", "extra", ""])] = rng.choice(VALUES)
    else:
        holder[key] = rng.choice(VALUES)
    try:
        return msgspec.msgpack.encode(value)
    except (OverflowError, TypeError):
        return data


# --- the two sides


def open_pair(dialect: Any) -> tuple[Any, Any]:
    client = ClientSession(dialect, secret=SECRET, port=1, limits=LIMITS, now=0.0)
    server = ServerSession(dialect, secret=SECRET, port=1, limits=LIMITS, now=0.0)
    for _ in range(2):
        for message in client.take_replies():
            if isinstance(server.receive(client.encode(message), 0.0), Opened):
                server.welcome(INFO, 1)
        for message in server.take_replies():
            client.receive(server.encode(message), 0.0)
    assert client.state is server.state is SessionState.OPEN
    return client, server


def fresh(dialect: Any, side: str, rng: random.Random) -> Any:
    """Return one end, in the middle of its handshake or with commands under way."""
    if rng.random() < 0.2:
        kind = ClientSession if side == "client" else ServerSession
        return kind(dialect, secret=SECRET, port=1, limits=LIMITS, now=0.0)
    client, server = open_pair(dialect)
    if side == "client":
        for _ in range(5):
            client.command(m.Play if dialect.endpoint == "session" else w.Ping)
        return client
    return server


def use(event: Any) -> None:
    """Do with a message what its receiver does next."""
    if isinstance(event, m.Frame):
        unpack_arrays(event.arrays, event.blob)
    elif isinstance(event, m.AssetChunk):
        parse_asset(event.data, event.digest)


def run(dialect: Any, side: str, corpus: list[bytes], count: int, seed: int) -> dict[str, int]:
    """Feed ``count`` mutated messages; return how often what came out."""
    rng = random.Random(seed)
    outcomes: dict[str, int] = {}
    session = fresh(dialect, side, rng)
    now = 0.0
    for number in range(count):
        if session.state is SessionState.CLOSED:
            session, now = fresh(dialect, side, rng), 0.0
        data = mutate(rng, rng.choice(corpus), corpus)
        now += rng.random() * 0.01
        try:
            event = session.receive(data, now)
            if isinstance(event, Opened):
                raise AssertionError("a mutated handshake was accepted")
            use(event)
            outcome = type(event).__name__
            session.tick(now)
            session.deadline()
            for reply in session.take_replies():
                session.encode(reply)
        except ProtocolError as error:
            outcome = type(error).__name__
        except BaseException as error:
            error.add_note(f"message {number} of seed {seed}, {side} side: {data[:200].hex()}")
            raise
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
    return outcomes


@pytest.fixture(scope="module")
def seed() -> int:
    chosen = os.environ.get("STROBOSCOPE_FUZZ_SEED")
    if chosen:
        return int(chosen)
    is_new = "STROBOSCOPE_FUZZ_FACTOR" in os.environ
    return random.SystemRandom().randrange(2**32) if is_new else 0


@pytest.mark.parametrize("side", ["server", "client"])
def test_mutated_messages_raise_only_documented_errors(side, seed):
    corpus = [
        msgspec.msgpack.encode(message)
        for message in (CLIENT_MESSAGES if side == "server" else SERVER_MESSAGES)
    ]
    dialect = debugger_dialect(LIMITS)
    outcomes = run(dialect, side, corpus, MESSAGES, seed)
    assert sum(outcomes.values()) == MESSAGES
    # The mutations must reach deep: some messages still mean something, most are refused.
    assert outcomes["InvalidMessage"] > MESSAGES // 10
    assert sum(n for kind, n in outcomes.items() if not kind.endswith(("Error", "Message"))) > 100


@pytest.mark.parametrize("side", ["server", "client"])
def test_mutated_messages_of_the_windows_dialect_raise_only_documented_errors(side, seed):
    corpus = [
        msgspec.msgpack.encode(message)
        for message in (CLIENT_MESSAGES if side == "server" else SERVER_MESSAGES)
    ]
    dialect = window_dialect(LIMITS)
    outcomes = run(dialect, side, corpus, MESSAGES // 10, seed)
    assert sum(outcomes.values()) == MESSAGES // 10
