"""Secrets in single texts: honest prose and code that stay, and what must not slip through."""

from __future__ import annotations

import pytest

from apm_hooks.store.items import SecretRefusedError
from apm_hooks.store.secrets import secret_kind
from tests.store.conftest import Shelf

WORD = "Winter" + "2026!"
CODE = "48" + "21"

HONEST = [
    "password=os.environ['DB_PASSWORD']", "password = password.encode('latin1')", "connect(password=password, port=1)",
    "key_password=self.key_password,", "upgrade_token=upgrade_token", "token_type = token[0]", "password=None, x=1",
    "m = Model(secret_date=date(2022, 1, 1))", "m = Model(secret_bool=True)", "value: SecretField[str]",
    "pin: numpy==1.26.4", "The pin is GPIO17", "The pin is ESP32-S3", "The PIN header is 40-pin",
    "encryption key is AES256-GCM", "The API key header is X-API-Key", "auth token is X-Auth-Token2",
    "token: cl100k_base", "token budget: 8k-16k", "Token: 0-based index", "password is Base64-encoded",
    "the docker secret is db_password_v2", "secretKeyRef: name: db-creds2", "The PIN is 4 digits",
    "commit 3f2a9c1e4b5d6a7b8c9d0e1f2a3b4c5d6e7f8a9b fixed it", "uuid 550e8400-e29b-41d4-a716-446655440000",
    "sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "密码策略：至少12位，每90天更换",
    "令牌桶算法的容量是1000", "验证码是6位数字", "The door code is changed each Monday",
    "the seed phrase is in the safe",
    "KeePassXC2 is our password manager", "Use bcrypt12 as the password hash", "Password:\n- length 12\n- 90 days",
    "Password\nThe password is in the vault", "token:\n  cl100k_base", "curl -u $USER:$PASS https://example.com",
    "mysql -u root -p inventory", "The token's lifetime is 3600s",
    "The recovery phrase: copy files from the main bucket",
    "passphrase is six words long", "The status code is 4040", "The country code is 0086",
]  # fmt: skip

SECRET = [
    f"pw is {WORD}", f"The door code is {CODE}", f"the alarm code is {CODE}", f"门禁码是{CODE}#",
    f"Password:\n  {WORD}", f"## Password\n{WORD}", f"- user: bob\n- password:\n  - {WORD}", f"wifi 密码:\n{WORD}",
    f"Password - {WORD}", f"the password's {WORD}", f"密码改成了{WORD}", f"密码换成{WORD}",
    f"{WORD} is the wifi password", f"use {WORD} as the password for now",
    f"curl -u bob:{WORD} https://example.com", f"mysql -uroot -p{WORD}", f"sshpass -p {WORD} ssh host",
    f"password={WORD}", f"DB_PASSWORD_PROD = {WORD}", f"secret_value={WORD}9",
    "".join(chr(ord(char) + 0xFEE0) for char in f"password:{WORD}"),
    'The passphrase is "correct horse battery staple"',
    "seed phrase: " + " ".join(["abandon", "ability", "able", "about", "above", "absent"] * 2),
]  # fmt: skip


@pytest.mark.parametrize("text", HONEST)
def test_an_honest_text_stays(text: str) -> None:
    assert secret_kind(text) == ""


@pytest.mark.parametrize("text", SECRET)
def test_a_secret_is_one(text: str) -> None:
    kind = secret_kind(text)
    assert kind
    assert WORD not in kind


def test_a_title_does_not_take_the_name_away_from_a_value(shelf: Shelf) -> None:
    """Each half is no secret by itself."""
    store = shelf.store()
    with pytest.raises(SecretRefusedError) as caught:
        store.remember(WORD, title="Database password")
    assert WORD not in str(caught.value)
    each = store.remember(WORD, title="Greeting of the season").id
    with pytest.raises(SecretRefusedError):
        store.update_memory(each, title="Database password")
    other = store.remember("It is in the vault", title="Database password").id
    with pytest.raises(SecretRefusedError):
        store.update_memory(other, content=WORD)
    assert [hit.memory.content for hit in store.recall(order="recent").hits] == ["It is in the vault", WORD]
    assert store.history(each) == store.history(other) == ()
    lines = [line.replace("Greeting of the season", "Database password") for line in store.export_lines()]
    for memory in (each, other):
        store.forget(memory)
    done = store.import_lines(lines)
    assert (done.added, len(done.skipped)) == (1, 1)
    assert WORD not in done.skipped[0][1]
