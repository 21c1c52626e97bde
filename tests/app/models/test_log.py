"""The log keeps everything that fits and counts the rest."""

from stroboscope.app.models.log import LogModel
from stroboscope.debugger_protocol.messages import LogLevel


def test_lines_are_filtered_by_level_and_words():
    log = LogModel()
    log.add(LogLevel.INFO, "attached", source="train.py")
    log.add(LogLevel.WARNING, "slow", source="train.py")
    log.add(LogLevel.ERROR, "broken", source="other.py")
    assert [line.text for line in log.select(at_least=LogLevel.WARNING)] == ["slow", "broken"]
    assert [line.text for line in log.select(at_least=LogLevel.INFO, text="TRAIN")] == [
        "attached",
        "slow",
    ]
    assert log.counts[LogLevel.ERROR] == 1


def test_no_line_ends_within_a_number_or_before_its_unit():
    log = LogModel()
    log.add(LogLevel.INFO, "frame 120 of 3\u2009000, every 2\u2009ms")
    (line,) = log.select(at_least=LogLevel.INFO)
    assert line.text == "frame 120 of 3\u202f000, every 2\u202fms"


def test_what_does_not_fit_is_counted():
    log = LogModel(capacity=3)
    for number in range(5):
        log.add(LogLevel.INFO, str(number))
    assert [line.text for line in log.lines] == ["2", "3", "4"]
    assert log.forgotten == 2
    log.clear()
    assert log.forgotten == 0
    assert log.lines == ()


def test_a_line_as_text_has_everything():
    log = LogModel()
    log.add(LogLevel.ERROR, "broken", source="Arm", sim_time=1.5)
    text = log.lines[0].as_text()
    assert "ERROR [Arm] t=1.500 s broken" in text


def test_findings_are_listed_and_not_counted_as_errors():
    log = LogModel()
    log.add(LogLevel.ERROR, "the crates overlap", source="Crates", found=True)
    assert [line.text for line in log.select(at_least=LogLevel.ERROR)] == ["the crates overlap"]
    assert log.counts[LogLevel.ERROR] == 0
