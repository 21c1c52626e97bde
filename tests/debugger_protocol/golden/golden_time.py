"""Golden bytes of time travel: looking, branches, rollouts, stops, environments."""

from typing import Any

import msgspec

from stroboscope.debugger_protocol import messages as m
from stroboscope.debugger_protocol import note_messages as n
from stroboscope.debugger_protocol import time_messages as t

CLIENT: list[tuple[Any, str]] = [
    (
        m.Goto(id=30, scene_id=1, axis=512),
        "87a474797065a4676f746fa269641ea87363656e655f696401a461786973cd0200a473746570c0a4"
        "74696d65c0a7657069736f6465c0",
    ),
    (
        m.Goto(id=31, scene_id=1, time=7.25, episode=3),
        "87a474797065a4676f746fa269641fa87363656e655f696401a461786973c0a473746570c0a47469"
        "6d65cb401d000000000000a7657069736f646503",
    ),
    (
        m.StepBack(id=32, scene_id=1),
        "85a474797065a9737465705f6261636ba2696420a87363656e655f696401a5636f756e7401a77068"
        "7973696373c2",
    ),
    (
        m.StepForward(id=33, scene_id=1, count=10, physics=True),
        "85a474797065ac737465705f666f7277617264a2696421a87363656e655f696401a5636f756e740a"
        "a770687973696373c3",
    ),
    (
        m.GoLive(id=34, scene_id=1),
        "83a474797065a7676f5f6c697665a2696422a87363656e655f696401",
    ),
    (
        m.SetHistory(id=35, scene_id=1, keep=True, max_bytes=67_108_864),
        "85a474797065ab7365745f686973746f7279a2696423a87363656e655f696401a46b656570c3a96d"
        "61785f6279746573ce04000000",
    ),
    (
        m.ContinueFromHere(id=36, scene_id=1, with_script=False),
        "84a474797065b2636f6e74696e75655f66726f6d5f68657265a2696424a87363656e655f696401ab"
        "776974685f736372697074c2",
    ),
    (
        m.Resimulate(
            id=37,
            scene_id=1,
            axis=512,
            edits=(t.WhatIf(kind=t.EditKind.OPTION, name="timestep", values=(0.001,)),),
            name="half the timestep",
        ),
        "87a474797065aa726573696d756c617465a2696425a87363656e655f696401a461786973cd0200a5"
        "737465707300a565646974739184a46b696e64a66f7074696f6ea46e616d65a874696d6573746570"
        "a5696e64657800a676616c75657391cb3f50624dd2f1a9fca46e616d65b168616c66207468652074"
        "696d6573746570",
    ),
    (
        m.DropRollout(id=38, scene_id=1, rollout_id=2),
        "84a474797065ac64726f705f726f6c6c6f7574a2696426a87363656e655f696401aa726f6c6c6f75"
        "745f696402",
    ),
    (
        m.DeriveNumber(
            id=40, scene_id=1, expression="contact.depth", name="deepest", rollout_ids=(2,)
        ),
        "87a474797065ad6465726976655f6e756d626572a2696428a87363656e655f696401aa6578707265"
        "7373696f6ead636f6e746163742e6465707468a9726564756374696f6ea36d6178a46e616d65a764"
        "656570657374ab726f6c6c6f75745f6964739102",
    ),
    (
        m.ShowGhosts(
            id=39,
            scene_id=1,
            ghosts=(t.GhostRef(source=t.GhostSource.CHECKPOINT, number=4, scene_id=1),),
        ),
        "84a474797065ab73686f775f67686f737473a2696427a87363656e655f696401a667686f73747391"
        "83a6736f75726365aa636865636b706f696e74a66e756d62657204a87363656e655f696401",
    ),
    (
        m.CompareStates(
            id=40,
            scene_id=1,
            first=t.GhostRef(source=t.GhostSource.ROW, number=18, scene_id=1),
            second=t.GhostRef(source=t.GhostSource.ROLLOUT, number=2, scene_id=1),
            tolerance=0.5,
        ),
        "86a474797065ae636f6d706172655f737461746573a2696428a87363656e655f696401a566697273"
        "7483a6736f75726365a3726f77a66e756d62657212a87363656e655f696401a67365636f6e6483a6"
        "736f75726365a7726f6c6c6f7574a66e756d62657202a87363656e655f696401a9746f6c6572616e"
        "6365cb3fe0000000000000",
    ),
    (
        m.ReadRows(id=41, scene_id=1, channels=("qpos",), first=18),
        "88a474797065a9726561645f726f7773a2696429a87363656e655f696401a86368616e6e656c7391"
        "a471706f73aa726f6c6c6f75745f696400a5666972737412a46c617374c0a86d61785f726f7773cd"
        "4e20",
    ),
    (
        m.SetStopRules(id=42, scene_id=1, off=(t.StopReason.WARNING,), mark_only=True),
        "86a474797065ae7365745f73746f705f72756c6573a269642aa87363656e655f696401a36f666691"
        "a77761726e696e67a873746f705f616c6cc2a96d61726b5f6f6e6c79c3",
    ),
    (
        m.BreakWhen(
            id=43,
            scene_id=1,
            expression="max(contact.penetration) > 0.005",
            once=True,
            envs_idx=(2, 300),
        ),
        "89a474797065aa627265616b5f7768656ea269642ba87363656e655f696401aa6578707265737369"
        "6f6ed9206d617828636f6e746163742e70656e6574726174696f6e29203e20302e303035a46e616d"
        "65a0a46869747301a46f6e6365c3a86c6f675f6f6e6c79c2a8656e76735f6964789202cd012c",
    ),
    (
        m.EditCondition(id=44, scene_id=1, condition_id=3, enabled=False),
        "89a474797065ae656469745f636f6e646974696f6ea269642ca87363656e655f696401ac636f6e64"
        "6974696f6e5f696403aa65787072657373696f6ec0a7656e61626c6564c2a468697473c0a46f6e63"
        "65c0a86c6f675f6f6e6c79c0",
    ),
    (
        m.RemoveCondition(id=45, scene_id=1, condition_id=3),
        "84a474797065b072656d6f76655f636f6e646974696f6ea269642da87363656e655f696401ac636f"
        "6e646974696f6e5f696403",
    ),
    (
        m.SelectEnvironments(id=46, scene_id=1, selected=7, shown=(6, 7)),
        "85a474797065b373656c6563745f656e7669726f6e6d656e7473a269642ea87363656e655f696401"
        "a873656c656374656407a573686f776e920607",
    ),
    (
        m.Fork(id=47, scene_id=1, source=7, targets=(0, 1)),
        "85a474797065a4666f726ba269642fa87363656e655f696401a6736f7572636507a774617267657473920001",
    ),
]

# Before there was `invalid`.
_REMEMBERED = m.SceneHistory(
    scene_id=1,
    keeps=True,
    first=2,
    dense=18,
    rows=500,
    used_bytes=65_536,
    max_bytes=67_108_864,
    segments=(
        t.Segment(
            segment_id=1,
            kind=t.SegmentKind.BRANCH,
            begin=18,
            episode=3,
            parent_axis=9,
            physics_step=6,
            step_count=3,
            time=0.5,
            text="from here",
        ),
    ),
    older_segments=4,
    view=40,
    view_back=2,
    view_time=0.25,
    view_step=20,
    view_note="verified",
    busy="half the timestep",
    progress=0.5,
    script_state=True,
    recording="run.mcap",
    recording_end=900,
    left_for_edits=3,
)

SERVER: list[tuple[Any, str]] = [
    (
        m.SceneNotes(
            scene_id=1,
            notes=(
                n.Note(
                    kind=n.NoteKind.TEXT,
                    axis=512,
                    time=1.024,
                    text="phase: grasp",
                    more=19,
                    until=600,
                ),
                n.Note(kind=n.NoteKind.CHECKPOINT, axis=700, text="lifted"),
            ),
            count=21,
        ),
        "84a474797065ab7363656e655f6e6f746573a87363656e655f696401a56e6f7465739286a46b696e"
        "64a474657874a461786973cd0200a474696d65cb3ff0624dd2f1a9fca474657874ac70686173653a"
        "206772617370a46d6f726513a5756e74696ccd025886a46b696e64aa636865636b706f696e74a461"
        "786973cd02bca474696d65cb0000000000000000a474657874a66c6966746564a46d6f726500a575"
        "6e74696cffa5636f756e7415",
    ),
    (
        m.Done(id=43, value=3),
        "83a474797065a4646f6e65a269642ba576616c756503",
    ),
    (
        msgspec.structs.replace(
            _REMEMBERED, invalid="not valid: full", asks_play=True, asks_loop=True
        ),
        "de0018a474797065ad7363656e655f686973746f7279a87363656e655f696401a56b65657073c3a5"
        "666972737402a564656e736512a4726f7773cd01f4aa757365645f6279746573ce00010000a96d61"
        "785f6279746573ce04000000a87365676d656e74739189aa7365676d656e745f696401a46b696e64"
        "a66272616e6368a5626567696e12a7657069736f646503ab706172656e745f6178697309ac706879"
        "736963735f7374657006aa737465705f636f756e7403a474696d65cb3fe0000000000000a4746578"
        "74a966726f6d2068657265ae6f6c6465725f7365676d656e747304a47669657728a9766965775f62"
        "61636b02a9766965775f74696d65cb3fd0000000000000a9766965775f7374657014a9766965775f"
        "6e6f7465a87665726966696564a462757379b168616c66207468652074696d6573746570a870726f"
        "6772657373cb3fe0000000000000ac7363726970745f7374617465c3a97265636f7264696e67a872"
        "756e2e6d636170ad7265636f7264696e675f656e64cd0384ae6c6566745f666f725f656469747303"
        "a7696e76616c6964af6e6f742076616c69643a2066756c6ca961736b735f706c6179c3a961736b735f6c6f"
        "6f70c3",
    ),
    (
        m.SceneRollouts(
            scene_id=1,
            rollouts=(
                t.RolloutInfo(
                    rollout_id=2,
                    name="half the timestep",
                    steps=100,
                    timestep=0.001,
                    time=0.5,
                    from_axis=18,
                    event_step=7,
                    edits=("timestep: 0.002 → 0.001",),
                    numbers=(("energy.total", 0.25),),
                    env=3,
                ),
            ),
            dropped=1,
        ),
        "84a474797065ae7363656e655f726f6c6c6f757473a87363656e655f696401a8726f6c6c6f757473"
        "918daa726f6c6c6f75745f696402a46e616d65b168616c66207468652074696d6573746570a57374"
        "65707364a874696d6573746570cb3f50624dd2f1a9fca474696d65cb3fe0000000000000a966726f"
        "6d5f6178697312a76f7574636f6d65a5656e646564aa6576656e745f7374657007a567726f7570a0"
        "a5656469747391b974696d65737465703a20302e30303220e2869220302e303031a76e756d626572"
        "739192ac656e657267792e746f74616ccb3fd0000000000000ac726570726f64756369626c65a0a3"
        "656e7603a764726f7070656401",
    ),
    (
        m.SceneStops(
            scene_id=1,
            stops=(
                t.StopInfo(
                    stop_id=1,
                    reason=t.StopReason.EXPLODING,
                    axis=18,
                    episode=3,
                    step=9,
                    physics_step=18,
                    time=0.5,
                    message="wrist is too fast",
                    culprit="servo too stiff",
                    advice="halve the timestep",
                    elements=(m.ElementRef(kind="joint", index=2, name="wrist"),),
                    dof=2,
                    joint="wrist",
                    value=0.5,
                    signal="SIGTERM",
                    is_before_step=True,
                    what_if=(
                        (
                            "half the timestep",
                            (t.WhatIf(kind=t.EditKind.OPTION, name="timestep", values=(0.001,)),),
                        ),
                    ),
                ),
            ),
            count=1,
            off=(t.StopReason.WARNING,),
            resets=2,
        ),
        "88a474797065ab7363656e655f73746f7073a87363656e655f696401a573746f707391de0017a773"
        "746f705f696401a6726561736f6ea96578706c6f64696e67a46178697312a7657069736f646503a4"
        "7374657009ac706879736963735f7374657012a474696d65cb3fe0000000000000a76d6573736167"
        "65b1777269737420697320746f6f2066617374a763756c70726974af736572766f20746f6f207374"
        "696666a6616476696365b268616c7665207468652074696d6573746570a8656c656d656e74739183"
        "a46b696e64a56a6f696e74a5696e64657802a46e616d65a57772697374a3646f6602a56a6f696e74"
        "a57772697374a4626f6479a0a86163747561746f72a0a576616c7565cb3fe0000000000000a3656e"
        "76ffac636f6e646974696f6e5f696400a7776861745f69669192b168616c66207468652074696d65"
        "737465709184a46b696e64a66f7074696f6ea46e616d65a874696d6573746570a5696e64657800a6"
        "76616c75657391cb3f50624dd2f1a9fca468656c64c3a977616c6c5f74696d65cb00000000000000"
        "00a67369676e616ca75349475445524dae69735f6265666f72655f73746570c3a5636f756e7401a3"
        "6f666691a77761726e696e67a873746f705f616c6cc2a96d61726b5f6f6e6c79c2a6726573657473"
        "02",
    ),
    (
        m.SceneGhosts(
            scene_id=1,
            ghosts=(t.GhostRef(source=t.GhostSource.ROW, number=118, scene_id=2),),
        ),
        "83a474797065ac7363656e655f67686f737473a87363656e655f696401a667686f7374739183a673"
        "6f75726365a3726f77a66e756d62657276a87363656e655f696402",
    ),
    (
        m.SceneConditions(
            scene_id=1,
            conditions=(
                t.ConditionInfo(
                    condition_id=3,
                    expression="qvel[0] > 1",
                    hit_count=2,
                    where="in environment 5",
                    envs_idx=(5,),
                ),
            ),
        ),
        "83a474797065b07363656e655f636f6e646974696f6e73a87363656e655f696401aa636f6e646974"
        "696f6e73918bac636f6e646974696f6e5f696403aa65787072657373696f6eab7176656c5b305d20"
        "3e2031a46e616d65a0a7656e61626c6564c3a46869747301a46f6e6365c2a86c6f675f6f6e6c79c2"
        "a96869745f636f756e7402a76661696c757265a0a57768657265b0696e20656e7669726f6e6d656e"
        "742035a8656e76735f6964789105",
    ),
    (
        m.StatesCompared(
            id=40,
            scene_id=1,
            differences=(
                t.StateDifference(name="qpos[0]", unit="rad", first=0.5, second=0.25, at_step=7),
            ),
            more=5,
            first_bit=1,
            text="differs from step 1 on",
        ),
        "89a474797065af7374617465735f636f6d7061726564a2696428a87363656e655f696401ab646966"
        "666572656e6365739185a46e616d65a771706f735b305da4756e6974a3726164a56669727374cb3f"
        "e0000000000000a67365636f6e64cb3fd0000000000000a761745f7374657007a46d6f726505a966"
        "697273745f62697401ac66697273745f6265796f6e64ffae66697273745f636f6e7461637473ffa4"
        "74657874b6646966666572732066726f6d20737465702031206f6e",
    ),
    (
        m.Rows(
            id=41,
            scene_id=1,
            rollout_id=0,
            channels=("qpos",),
            widths=(2,),
            count=1,
            blob=bytes(32),
        ),
        "88a474797065a4726f7773a2696429a87363656e655f696401aa726f6c6c6f75745f696400a86368"
        "616e6e656c7391a471706f73a67769647468739102a5636f756e7401a4626c6f62c4200000000000"
        "000000000000000000000000000000000000000000000000000000",
    ),
    (
        m.Environments(
            scene_id=1, count=4096, selected=7, shown=(6, 7), failed=(9,), failed_count=1
        ),
        "87a474797065ac656e7669726f6e6d656e7473a87363656e655f696401a5636f756e74cd1000a873"
        "656c656374656407a573686f776e920607a66661696c65649109ac6661696c65645f636f756e7401",
    ),
]

# As they were written before they named environments; still read.
OLD_CLIENT: list[tuple[Any, str]] = [
    (
        m.BreakWhen(id=43, scene_id=1, expression="max(contact.penetration) > 0.005", once=True),
        "88a474797065aa627265616b5f7768656ea269642ba87363656e655f696401aa6578707265737369"
        "6f6ed9206d617828636f6e746163742e70656e6574726174696f6e29203e20302e303035a46e616d"
        "65a0a46869747301a46f6e6365c3a86c6f675f6f6e6c79c2",
    ),
]

OLD_SERVER: list[tuple[Any, str]] = [
    (
        msgspec.structs.replace(_REMEMBERED, invalid="not valid: full"),
        "de0016a474797065ad7363656e655f686973746f7279a87363656e655f696401a56b65657073c3a5"
        "666972737402a564656e736512a4726f7773cd01f4aa757365645f6279746573ce00010000a96d61"
        "785f6279746573ce04000000a87365676d656e74739189aa7365676d656e745f696401a46b696e64"
        "a66272616e6368a5626567696e12a7657069736f646503ab706172656e745f6178697309ac706879"
        "736963735f7374657006aa737465705f636f756e7403a474696d65cb3fe0000000000000a4746578"
        "74a966726f6d2068657265ae6f6c6465725f7365676d656e747304a47669657728a9766965775f62"
        "61636b02a9766965775f74696d65cb3fd0000000000000a9766965775f7374657014a9766965775f"
        "6e6f7465a87665726966696564a462757379b168616c66207468652074696d6573746570a870726f"
        "6772657373cb3fe0000000000000ac7363726970745f7374617465c3a97265636f7264696e67a872"
        "756e2e6d636170ad7265636f7264696e675f656e64cd0384ae6c6566745f666f725f656469747303"
        "a7696e76616c6964af6e6f742076616c69643a2066756c6c",
    ),
    (
        _REMEMBERED,
        "de0015a474797065ad7363656e655f686973746f7279a87363656e655f696401a56b65657073c3a5"
        "666972737402a564656e736512a4726f7773cd01f4aa757365645f6279746573ce00010000a96d61"
        "785f6279746573ce04000000a87365676d656e74739189aa7365676d656e745f696401a46b696e64"
        "a66272616e6368a5626567696e12a7657069736f646503ab706172656e745f6178697309ac706879"
        "736963735f7374657006aa737465705f636f756e7403a474696d65cb3fe0000000000000a4746578"
        "74a966726f6d2068657265ae6f6c6465725f7365676d656e747304a47669657728a9766965775f62"
        "61636b02a9766965775f74696d65cb3fd0000000000000a9766965775f7374657014a9766965775f"
        "6e6f7465a87665726966696564a462757379b168616c66207468652074696d6573746570a870726f"
        "6772657373cb3fe0000000000000ac7363726970745f7374617465c3a97265636f7264696e67a872"
        "756e2e6d636170ad7265636f7264696e675f656e64cd0384ae6c6566745f666f725f656469747303",
    ),
    (
        m.SceneStops(
            scene_id=1,
            stops=(
                t.StopInfo(
                    stop_id=1,
                    reason=t.StopReason.EXPLODING,
                    axis=18,
                    episode=3,
                    step=9,
                    physics_step=18,
                    time=0.5,
                    message="wrist is too fast",
                    culprit="servo too stiff",
                    advice="halve the timestep",
                    elements=(m.ElementRef(kind="joint", index=2, name="wrist"),),
                    dof=2,
                    joint="wrist",
                    value=0.5,
                    signal="SIGTERM",
                    what_if=(
                        (
                            "half the timestep",
                            (t.WhatIf(kind=t.EditKind.OPTION, name="timestep", values=(0.001,)),),
                        ),
                    ),
                ),
            ),
            count=1,
            off=(t.StopReason.WARNING,),
            resets=2,
        ),
        "88a474797065ab7363656e655f73746f7073a87363656e655f696401a573746f707391de0016a773"
        "746f705f696401a6726561736f6ea96578706c6f64696e67a46178697312a7657069736f646503a4"
        "7374657009ac706879736963735f7374657012a474696d65cb3fe0000000000000a76d6573736167"
        "65b1777269737420697320746f6f2066617374a763756c70726974af736572766f20746f6f207374"
        "696666a6616476696365b268616c7665207468652074696d6573746570a8656c656d656e74739183"
        "a46b696e64a56a6f696e74a5696e64657802a46e616d65a57772697374a3646f6602a56a6f696e74"
        "a57772697374a4626f6479a0a86163747561746f72a0a576616c7565cb3fe0000000000000a3656e"
        "76ffac636f6e646974696f6e5f696400a7776861745f69669192b168616c66207468652074696d65"
        "737465709184a46b696e64a66f7074696f6ea46e616d65a874696d6573746570a5696e64657800a6"
        "76616c75657391cb3f50624dd2f1a9fca468656c64c3a977616c6c5f74696d65cb00000000000000"
        "00a67369676e616ca75349475445524da5636f756e7401a36f666691a77761726e696e67a873746f"
        "705f616c6cc2a96d61726b5f6f6e6c79c2a672657365747302",
    ),
    (
        m.SceneStops(
            scene_id=1,
            stops=(
                t.StopInfo(
                    stop_id=1,
                    reason=t.StopReason.EXPLODING,
                    axis=18,
                    episode=3,
                    step=9,
                    physics_step=18,
                    time=0.5,
                    message="wrist is too fast",
                    culprit="servo too stiff",
                    advice="halve the timestep",
                    elements=(m.ElementRef(kind="joint", index=2, name="wrist"),),
                    dof=2,
                    joint="wrist",
                    value=0.5,
                    what_if=(
                        (
                            "half the timestep",
                            (t.WhatIf(kind=t.EditKind.OPTION, name="timestep", values=(0.001,)),),
                        ),
                    ),
                ),
            ),
            count=1,
            off=(t.StopReason.WARNING,),
            resets=2,
        ),
        "88a474797065ab7363656e655f73746f7073a87363656e655f696401a573746f707391de0015a773"
        "746f705f696401a6726561736f6ea96578706c6f64696e67a46178697312a7657069736f646503a4"
        "7374657009ac706879736963735f7374657012a474696d65cb3fe0000000000000a76d6573736167"
        "65b1777269737420697320746f6f2066617374a763756c70726974af736572766f20746f6f207374"
        "696666a6616476696365b268616c7665207468652074696d6573746570a8656c656d656e74739183"
        "a46b696e64a56a6f696e74a5696e64657802a46e616d65a57772697374a3646f6602a56a6f696e74"
        "a57772697374a4626f6479a0a86163747561746f72a0a576616c7565cb3fe0000000000000a3656e"
        "76ffac636f6e646974696f6e5f696400a7776861745f69669192b168616c66207468652074696d65"
        "737465709184a46b696e64a66f7074696f6ea46e616d65a874696d6573746570a5696e64657800a6"
        "76616c75657391cb3f50624dd2f1a9fca468656c64c3a977616c6c5f74696d65cb00000000000000"
        "00a5636f756e7401a36f666691a77761726e696e67a873746f705f616c6cc2a96d61726b5f6f6e6c"
        "79c2a672657365747302",
    ),
    (
        m.SceneHistory(
            scene_id=1,
            keeps=True,
            first=2,
            dense=18,
            rows=500,
            used_bytes=65_536,
            max_bytes=67_108_864,
            segments=(
                t.Segment(
                    segment_id=1,
                    kind=t.SegmentKind.BRANCH,
                    begin=18,
                    episode=3,
                    parent_axis=9,
                    physics_step=6,
                    step_count=3,
                    time=0.5,
                    text="from here",
                ),
            ),
            older_segments=4,
            view=40,
            view_back=2,
            view_time=0.25,
            view_step=20,
            view_note="verified",
            busy="half the timestep",
            progress=0.5,
            script_state=True,
            recording="run.mcap",
            recording_end=900,
        ),
        "de0014a474797065ad7363656e655f686973746f7279a87363656e655f696401a56b65657073c3a5"
        "666972737402a564656e736512a4726f7773cd01f4aa757365645f6279746573ce00010000a96d61"
        "785f6279746573ce04000000a87365676d656e74739189aa7365676d656e745f696401a46b696e64"
        "a66272616e6368a5626567696e12a7657069736f646503ab706172656e745f6178697309ac706879"
        "736963735f7374657006aa737465705f636f756e7403a474696d65cb3fe0000000000000a4746578"
        "74a966726f6d2068657265ae6f6c6465725f7365676d656e747304a47669657728a9766965775f62"
        "61636b02a9766965775f74696d65cb3fd0000000000000a9766965775f7374657014a9766965775f"
        "6e6f7465a87665726966696564a462757379b168616c66207468652074696d6573746570a870726f"
        "6772657373cb3fe0000000000000ac7363726970745f7374617465c3a97265636f7264696e67a872"
        "756e2e6d636170ad7265636f7264696e675f656e64cd0384",
    ),
    (
        m.SceneHistory(
            scene_id=1,
            keeps=True,
            first=2,
            dense=18,
            rows=500,
            used_bytes=65_536,
            max_bytes=67_108_864,
            segments=(
                t.Segment(
                    segment_id=1,
                    kind=t.SegmentKind.BRANCH,
                    begin=18,
                    episode=3,
                    parent_axis=9,
                    physics_step=6,
                    step_count=3,
                    time=0.5,
                    text="from here",
                ),
            ),
            older_segments=4,
            view=40,
            view_back=2,
            view_time=0.25,
            view_step=20,
            view_note="verified",
            busy="half the timestep",
            progress=0.5,
            script_state=True,
        ),
        "de0012a474797065ad7363656e655f686973746f7279a87363656e655f696401a56b65657073c3a5"
        "666972737402a564656e736512a4726f7773cd01f4aa757365645f6279746573ce00010000a96d61"
        "785f6279746573ce04000000a87365676d656e74739189aa7365676d656e745f696401a46b696e64"
        "a66272616e6368a5626567696e12a7657069736f646503ab706172656e745f6178697309ac706879"
        "736963735f7374657006aa737465705f636f756e7403a474696d65cb3fe0000000000000a4746578"
        "74a966726f6d2068657265ae6f6c6465725f7365676d656e747304a47669657728a9766965775f62"
        "61636b02a9766965775f74696d65cb3fd0000000000000a9766965775f7374657014a9766965775f"
        "6e6f7465a87665726966696564a462757379b168616c66207468652074696d6573746570a870726f"
        "6772657373cb3fe0000000000000ac7363726970745f7374617465c3",
    ),
    (
        m.SceneConditions(
            scene_id=1,
            conditions=(t.ConditionInfo(condition_id=3, expression="qvel[0] > 1", hit_count=2),),
        ),
        "83a474797065b07363656e655f636f6e646974696f6e73a87363656e655f696401aa636f6e646974"
        "696f6e73918aac636f6e646974696f6e5f696403aa65787072657373696f6eab7176656c5b305d20"
        "3e2031a46e616d65a0a7656e61626c6564c3a46869747301a46f6e6365c2a86c6f675f6f6e6c79c2"
        "a96869745f636f756e7402a76661696c757265a0a57768657265a0",
    ),
]
