from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apm_hooks.credentials import Secret, find_secrets
from tests.test_linear import growth, tried

HEX = "9f86d081884c7d659a2feaa0c55ad015"

SECRETS = [
    "sk-test-0123456789abcdef0123",
    "sk_live_abcdefghij0123456789",
    "rk-live-abcdefghij0123456789",
    "ghp_" + "a1" * 18,
    "github_pat_" + "A1b2" * 8,
    "glpat-" + "a1B2" * 6,
    "AKIAIOSFODNN7EXAMPLE",
    "xoxb-1234567890-abcdefghij",
    "https://hooks.slack.com/services/T0ABCDEF/B0ABCDEF/abcdefghij0123456789",
    "AIza" + "A1-_b" * 7,
    "123456789:" + "A1b2C3d" * 5,
    "npm_" + "a1B2" * 9,
    "hf_" + "a1B2c" * 7,
    "SG." + "a1B2" * 6 + "." + "a1B2" * 6,
    "-----BEGIN RSA PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blbn",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcDEF123456_-x",
    "Authorization: Bearer abcdefghij0123456789",
    "export TOKEN=abcdef12",
    "export GITHUB_TOKEN=swordfish",
    "PASSWORD=swordfish",
    "my pwd=abc12345",
    "password: P@ssword",
    "password: 20481024",
    "the password is s3cretword",
    '"password": "hunter2x"',
    "api_key = 'a1b2c3d4e5f6g7h8'",
    f"client secret: {HEX}",
    f"**token**: `tk_{HEX}`",
    "access token → a1b2c3d4e5f6",
    "password is 550e8400-e29b-41d4-a716-446655440000",
    "postgres://bob:s3cr3t@db/x",
    "pass\u200bword is hunter2-XyZ",
    "密码是 hunter2XyZ",
    "密码：abc12345",
    "パスワードは hunter22x",
    "비밀번호는 hunter22x",
    "пароль: qwerty123",
    "mot de passe est azerty99",
    "la contraseña es hunter22x",
    "das Passwort ist hunter22x",
]

INNOCENT = [
    "password policy",
    "the token budget",
    "the token budget: 6000",
    "token budget is 8000",
    "tokens: 6000",
    "token 数量",
    "the token is o200k_base",
    "token=tiktoken/o200k_base",
    "tokenizer: o200k_base",
    f"commit {HEX}",
    f"sha256:{HEX}{HEX}",
    "id 550e8400-e29b-41d4-a716-446655440000",
    "password is rotated monthly",
    "password: required",
    "password: see 1Password",
    "password: 1Password",
    "password: ********",
    "password is case-sensitive",
    "password: 12-character minimum",
    "password: 2FA-protected",
    "password is argon2id-hashed",
    "password hash is sha256",
    "password is stored in the vault",
    "password was changed on 2026-01-01",
    "password: 2026-01-01",
    "password: bob@example.org",
    "密码策略是每月更换",
    "token is oauth2",
    "token is base64",
    "token: JWT",
    "token: P2-L3",
    "token: docs/auth.md",
    "token: /etc/app/token",
    "token = $TOKEN",
    "TOKEN=${TOKEN}",
    "export TOKEN=<your token>",
    "access token: none",
    "auth token: rotated 2026-02-03T10:00:00Z",
    "the secret is out",
    "secretary: Bob",
    "secret: HashiCorp Vault",
    "the api key is in GCP-Secret-Manager",
    "the key is: ask Bob",
    "sk-learn is used",
    "sk-this-is-a-long-name-with-many-words",
    "Risk: sk-",
    "task-2024-0001-review-of-the-design",
    "eyJ is the start of base64 JSON",
    "Bearer tokens are short-lived-and-rotated",
    "postgres://db.example.org:5432/x",
    "http://user:<password>@host",
    "see https://example.org/a:b@c",
    "My team reviews system prompt designs",
]


@pytest.mark.parametrize("text", SECRETS)
def test_a_secret_is_found_wherever_it_stands(text: str) -> None:
    for shown in (text, f"- 2026-01-02: {text}, said Bob", f"({text})", f"one line\n\n{text}\nanother"):
        assert find_secrets(shown), shown


@pytest.mark.parametrize("text", INNOCENT)
def test_talk_about_secrets_is_none(text: str) -> None:
    for shown in (text, f"- {text}.", f"> {text}\n\nmore"):
        assert find_secrets(shown) == (), shown


def test_each_secret_is_told_by_its_line_and_never_by_its_value() -> None:
    said = "prod password is hunter2-XyZ; key sk-test-0123456789abcdef0123"
    found = find_secrets(f"{said}\n\ntoken: none\nAKIAIOSFODNN7EXAMPLE")
    assert found == (Secret(1, "a password"), Secret(1, "an API key"), Secret(4, "an AWS access key"))
    assert "hunter2" not in repr(found)


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("password is:=token.k-_x1A \n\"'`@/"), max_size=60))
def test_no_text_breaks_the_search(text: str) -> None:
    assert all(1 <= secret.line <= text.count("\n") + 1 for secret in find_secrets(text))


SHAPES: dict[str, Callable[[int], str]] = {
    "tokens without dots": lambda n: "eyJ" * (n // 3),
    "tokens with dashes": lambda n: "eyJ-" * (n // 4),
    "keys": lambda n: "sk-a" * (n // 4),
    "names": lambda n: "password " * (n // 9),
    "names and signs": lambda n: "token:" * (n // 6),
    "assignments on one line": lambda n: "TOKEN=abcdefgh " * (n // 15),
    "addresses": lambda n: "a://b:" * (n // 6),
    "bearers": lambda n: "bearer " * (n // 7),
    "quotes": lambda n: 'token="' * (n // 7),
    "letters": lambda n: "a" * n,
    "figures": lambda n: "1" * n,
    "dashes": lambda n: "-" * n,
    "blocks": lambda n: "-----BEGIN " * (n // 11),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_twice_the_text_takes_about_twice_the_time(shape: str) -> None:
    assert growth(tried(find_secrets, SHAPES[shape]), 40_000) < 3.2
