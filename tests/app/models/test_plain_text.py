"""Words of scripts are no markup."""

import pytest
from PySide6.QtGui import Qt

from stroboscope.app.models.plain_text import plain_text


@pytest.mark.parametrize(
    "text", ["<b>bold</b>", "a <img src=x> b", "&lt;b", "<!-- c -->", "<?xml?>", "x\n<h1>y</h1>"]
)
def test_what_looks_like_markup_is_none_afterwards_and_reads_the_same(text):
    assert not Qt.mightBeRichText(plain_text(text))
    assert plain_text(text).replace("\N{WORD JOINER}", "") == text


@pytest.mark.parametrize("text", ["kp < 4 && kv > 2", "", "a<-b", "50 %"])
def test_other_words_stay_as_they_are(text):
    assert plain_text(text) == text
