"""Words, their classes and when two of them are one (protocol, section 5, step 2)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apm_hooks import wordlists, words_chat, words_families, words_generic
from apm_hooks.words import Class, Kind, fold, words_of
from apm_hooks.words_class import class_of, hangul_parts, is_laughter, is_small_talk, languages_of
from apm_hooks.words_forms import Comparer, How, families_of, is_near
from apm_hooks.words_han import coverage, pieces_of, terms_of_run
from apm_hooks.words_hangul import hangul_core, hangul_forms
from apm_hooks.words_typos import distance, is_typo


def plain(text: str) -> list[str]:
    return [word.plain for word in words_of(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ship it, NOW!", ["ship", "it", "now"]),
        ("C++ and C# beat issue#12", ["c++", "and", "c#", "beat", "issue", "12"]),
        ("v1.2 4.2.1 end.Next", ["v1.2", "4.2.1", "end", "next"]),
        ("snake_case camelCase HTTPServer", ["snake", "case", "camel", "case", "http", "server"]),
        ("CMake iPhone", ["cmake", "iphone"]),
        ("ＡＰＩ ｻｰﾊﾞｰ ﬁle", ["api", "サーバ", "file"]),
        ("Straße naïve ЁЛКА", ["strasse", "naive", "елка"]),
        ("API設計とテスト", ["api", "設計と", "テスト"]),
        ("らーめん、コーヒー", ["らーめん", "コーヒ"]),
        ("API를 DB서버", ["api", "를", "db", "서버"]),
        ("हिन्दी العربية", ["हिन्दी", "العربية"]),
        ("👍🏽 --- … 🎂", []),
        ("x\ud800y", ["x", "y"]),
    ],
)
def test_text_falls_apart_into_folded_words(text: str, expected: list[str]) -> None:
    assert plain(text) == expected


def test_a_part_knows_the_compound_that_it_was_taken_from() -> None:
    assert [(word.plain, word.whole) for word in words_of("pre-edit node.js it")] == [
        ("pre", "preedit"),
        ("edit", "preedit"),
        ("node", "nodejs"),
        ("js", "nodejs"),
        ("it", ""),
    ]


def test_an_endless_word_is_cut() -> None:
    (word,) = words_of("a" * 5_000)
    assert len(word.text) < 100


@given(st.text(max_size=200))
@settings(max_examples=200)
def test_any_text_gives_words_without_empty_ones(text: str) -> None:
    for word in words_of(text):
        assert word.raw
        assert word.text
        assert word.plain == word.plain.casefold() or word.kind is not Kind.WORD


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("what is the status of this", ("en",)),
        ("wer ist für die Heizung zuständig", ("de",)),
        ("¿quién está con los niños?", ("es",)),
        ("qui est dans le bureau avec vous", ("fr",)),
        ("кто это сделал", ()),
        ("OAuth 502", ()),
    ],
)
def test_function_words_tell_the_language(text: str, expected: tuple[str, ...]) -> None:
    assert languages_of(words_of(text)) == expected


@pytest.mark.parametrize(
    ("text", "languages", "expected"),
    [
        ("die", ("de",), Class.STOP),
        ("die", ("en",), Class.CONTENT),
        ("comment", ("fr",), Class.STOP),
        ("comment", ("en",), Class.CONTENT),
        ("который", (), Class.STOP),
        ("project", ("en",), Class.VOID),
        ("Issues", ("en",), Class.VOID),
        ("проблема", (), Class.VOID),
        ("status", ("en",), Class.COMMON),
        ("customers", ("en",), Class.LIGHT),
        ("haha", ("en",), Class.CHAT),
        ("thanks", ("en",), Class.CHAT),
        ("invoice", ("en",), Class.CONTENT),
        ("7", ("en",), Class.VOID),
        ("502", ("en",), Class.CONTENT),
        ("문제가", (), Class.VOID),
        ("나이가", (), Class.CONTENT),
        ("ㅋㅋㅋ", (), Class.CHAT),
        ("テスト", (), Class.LIGHT),
        ("デプロイ", (), Class.CONTENT),
    ],
)
def test_a_word_has_a_class_in_the_languages_of_its_text(
    text: str, languages: tuple[str, ...], expected: Class
) -> None:
    (word,) = words_of(text)
    assert class_of(word, languages, Comparer(languages).bare_stems) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        ("👍👍", True),
        ("good morning", True),
        ("Thanks Ana!", True),
        ("great work everybody", True),
        ("happy birthday Ines 🎂", True),
        ("guten Morgen zusammen", True),
        ("¡muchas gracias!", True),
        ("bonne nuit les amis", True),
        ("всем спасибо", True),
        ("哈哈哈", True),
        ("辛苦了，谢谢大家", True),
        ("お疲れさまでした", True),
        ("네 감사합니다!", True),
        ("thanks, the invoice is fixed", False),
        ("how is the project going", False),
        ("谢谢，发票收到了", False),
        ("お疲れさまです、請求書の件です", False),
        ("Danke, die Rechnung und der Vertrag sind da", False),
        ("the printer is broken", False),
    ],
)
def test_small_talk_is_told_from_talk_about_something(text: str, expected: bool) -> None:
    assert is_small_talk(words_of(text)) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("haha", True),
        ("jajaja", True),
        ("www", True),
        ("ㅋㅋ", True),
        ("noon", False),
        ("222", False),
        ("ha", False),
    ],
)
def test_laughter_repeats_itself(text: str, expected: bool) -> None:
    assert is_laughter(text) is expected


@pytest.mark.parametrize(
    ("language", "one", "other", "expected"),
    [
        ("en", "deploying", "deployment", How.STEM),
        ("en", "paid", "payments", How.STEM),
        ("en", "complain", "complaints", How.PART),
        ("de", "Rechnung", "rechnungen", How.STEM),
        ("de", "Muell", "müll", How.SAME),
        ("de", "gebucht", "buchung", How.STEM),
        ("de", "gekündigt", "kündigung", How.PART),
        ("de", "Rechnungsnummer", "rechnungen", How.PART),
        ("de", "Eingangsrechnung", "rechnungen", How.PART),
        ("de", "Versicherung", "sicherung", None),
        ("de", "Dienst", "dienstplan", How.BEGINNING),
        ("es", "facturas", "facturación", How.STEM),
        ("es", "envios", "envíos", How.SAME),
        ("es", "comprobación", "compra", None),
        ("fr", "livré", "livraisons", How.STEM),
        ("fr", "chevaux", "cheval", How.STEM),
        ("ru", "счетов", "счёт", How.STEM),
        ("ru", "вернуть", "возврат", How.STEM),
        ("ru", "отгрузили", "отгрузка", How.STEM),
        ("", "サーバ", "サーバー", How.SAME),
        ("", "ゲームバランス", "バランス", How.PART),
        ("", "コンテスト", "テスト", How.PART),
        ("", "リストア", "ストア", None),
        ("", "담당자에게", "담당자", How.SAME),
        ("", "배포했는데요", "배포", How.SAME),
        ("", "결제오류가", "결제", How.STEM),
        ("en", "organ", "orange", None),
        ("en", "as", "assets", None),
    ],
)
def test_inflected_words_are_the_same_word(language: str, one: str, other: str, expected: How | None) -> None:
    (word,) = words_of(one)
    (meant,) = words_of(other)
    assert Comparer((language,) if language else ()).relate(word, meant.text, meant.kind) is expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("deploymnet", "deployment", True),
        ("invoce", "invoice", True),
        ("suplier", "suppliers", True),
        ("archtecture", "architecture", True),
        ("сертефикат", "сертификат", True),
        ("аркитектура", "архитектура", True),
        ("ブロカー", "ブロッカー", True),
        ("クーボン", "クーポン", True),
        ("아키택처", "아키텍처", True),
        ("from", "form", False),
        ("cart", "card", False),
        ("employment", "deployment", False),
        ("conversation", "conversion", False),
        ("contains", "contacts", False),
        ("결재", "결제", False),
    ],
)
def test_small_typos_are_forgiven_and_other_words_are_not(one: str, other: str, expected: bool) -> None:
    (word,) = words_of(one)
    (meant,) = words_of(other)
    assert is_near(word, meant.text, meant.kind, Comparer(())) is expected


def test_a_typo_needs_five_letters_and_the_right_beginning() -> None:
    assert is_typo("ivnoice", "invoice")
    assert is_typo("nivoice", "invoice")
    assert not is_typo("xnvoice", "invoice")
    assert not is_typo("tex", "text")
    assert is_typo("misstake", "mistake")
    assert not is_typo("maximum", "minimum")


@given(st.text("abcd", max_size=9), st.text("abcd", max_size=9), st.integers(0, 6))
def test_the_distance_is_symmetric_and_bounded(one: str, other: str, limit: int) -> None:
    found = distance(one, other, limit)
    assert found == distance(other, one, limit)
    assert found <= limit + 1
    assert (found == 0) == (one == other)
    assert found == min(distance(one, other, 60), limit + 1)


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ("支付问题", ["支付", "问题"]),
        ("发票和报销", ["发票", "和", "报销"]),
        ("用户的反馈", ["用户", "的", "反馈"]),
        ("目的地", ["目的地"]),
        ("工作台", ["工作台"]),
        ("参与者", ["参与者"]),
        ("数据库迁移", ["数据库", "迁移"]),
        ("請求書の発行", ["請求書", "の", "発行"]),
        ("見積もりと契約", ["見積もり", "と", "契約"]),
        ("問い合わせ対応", ["問い合わせ", "対応"]),
        ("引き継ぎ", ["引き継ぎ"]),
    ],
)
def test_a_scenario_without_spaces_is_cut_at_known_words_only(run: str, expected: list[str]) -> None:
    assert [text for text, _ in terms_of_run(run)] == expected


@pytest.mark.parametrize(
    ("text", "offsets", "expected"),
    [
        ("退款", [0], 1.0),
        ("值班表", [0], 0.75),
        ("数据库", [0], 0.4),
        ("支払い", [0], 1.0),
        ("考试成绩", [2], 0.72),
        ("考试成绩", [1], 0.35),
        ("締め切り", [2], 0.35),
        ("供应商联系人", [0, 1], 0.8),
        ("税", [0], 1.0),
    ],
)
def test_how_surely_a_part_of_a_han_word_is_the_word(text: str, offsets: list[int], expected: float) -> None:
    assert coverage(text, offsets)[1] == expected


@given(st.text(st.characters(min_codepoint=0x3041, max_codepoint=0x9FFF), max_size=40))
def test_cutting_a_run_loses_no_character(run: str) -> None:
    for word in words_of(run):
        if word.kind is Kind.HAN:
            assert "".join(text for text, _ in pieces_of(word.text)) == word.text
            assert "".join(text for text, _ in terms_of_run(word.text)) == word.text


@pytest.mark.parametrize(
    ("word", "core"),
    [
        ("담당자에게", "담당자"),
        ("배포했습니다", "배포"),
        ("문의", "문의"),
        ("회의", "회의"),
        ("돈을", "돈을"),
        ("서버", "서버"),
    ],
)
def test_korean_particles_come_off(word: str, core: str) -> None:
    assert hangul_core(word) == core
    assert core in hangul_forms(word)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("결제오류", ["결제", "오류"]),
        ("데이터베이스", ["데이터베이스"]),
        ("고객문의", ["고객", "문의"]),
        ("환불은", ["환불"]),
    ],
)
def test_a_korean_compound_is_cut_at_a_generic_word(word: str, expected: list[str]) -> None:
    (found,) = words_of(word)
    assert [text for text, _ in hangul_parts(found)] == expected


def test_generic_words_are_found_in_every_inflection_of_the_lists() -> None:
    comparer = Comparer(wordlists.LATIN_LANGUAGES)
    lists = (
        (words_generic.VOID, Class.VOID),
        (words_generic.COMMON, Class.COMMON),
        (words_generic.LIGHT, Class.LIGHT),
    )
    for text, expected in lists:
        for entry in text.split():
            (word,) = words_of(entry)
            assert class_of(word, ("en",), comparer.bare_stems) in (Class.STOP, Class.CHAT, expected) or any(
                entry in other for other, kind in lists if kind < expected
            ), entry


def test_word_lists_hold_what_their_scripts_need() -> None:
    for text in (
        wordlists.STOP_HANGUL,
        wordlists.PARTICLES,
        words_chat.CHAT_HANGUL,
        words_families.WHOLE_HANGUL,
    ):
        assert all(words_of(entry)[0].kind is Kind.HANGUL for entry in text.split())
    for line in words_families.FAMILIES.strip().splitlines():
        family = [fold(word) for word in line.split()]
        assert len(set(family)) > 1
        assert all(set(families_of(word)) & set(families_of(family[0])) for word in family)
