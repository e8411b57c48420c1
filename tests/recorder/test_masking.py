"""What is kept of command lines, and what must not be."""

from __future__ import annotations

import pytest

from timesink.recorder.processes import masked

VALUE = "correct.horse"


@pytest.mark.parametrize(
    "words",
    [
        ["--token", VALUE],
        [f"--token={VALUE}"],
        ["--hf_token", VALUE],
        ["--wandb-key", VALUE],
        ["-apiKey", VALUE],
        ["-p", VALUE],
        ["--hftoken", VALUE],
        [f"--hftoken={VALUE}"],
        [f"HFTOKEN={VALUE}"],
        ["--wandbkey", VALUE],
        ["--dbpwd", VALUE],
        ["--cred", VALUE],
        ["--oauth", VALUE],
        [f"--api-key={VALUE}"],
        ["sh", "-c", f"mysql -p {VALUE} -e 1"],
        ["--accessToken", VALUE],
        ["--authtoken", VALUE],
        ["--db.password", VALUE],
        ["--PASSWD", VALUE],
        ["--secret-value", VALUE],
        ["--aws-secret-access-key", VALUE],
        ["--use-auth-token", "--token", VALUE],
        [f"+trainer.credentials={VALUE}"],
        ["env", f"HF_TOKEN={VALUE}", "python"],
        [f"https://me:{VALUE}@host/data"],
        [f"postgres://me:with/slash{VALUE}@host/data"],
        [f"https://{VALUE}@host/data"],
        [f"https://host/data?sig={VALUE}&x=1"],
        ["-H", f"Authorization: Bearer {VALUE}"],
        ["sh", "-c", f"export WANDB_API_KEY={VALUE}; python train.py"],
        ["sh", "-c", f"python train.py --password {VALUE} --lr 1"],
        ["sh", "-c", f"TOKEN='a {VALUE}' python train.py"],
        ["sh", "-c", f'curl -H "X-Token: {VALUE}" host'],
        *([f"--{name}", VALUE] for name in ["pass", "pw", "creds", "cookie", "jwt", "pat", "otp"]),
        *([f"--{name}", VALUE] for name in ["passwd", "dbpass", "pin"]),
        *([name, f"bob:{VALUE}"] for name in ["--user", "-u", "--proxy-user"]),
        [f"--user=bob:{VALUE}"],
        ["--db-pass", f"-{VALUE}"],
        ["--token", f"--+{VALUE}"],
        ["--use-auth-token", "-apiKey", VALUE],
        [
            "--ssh",
            f"-----BEGIN OPENSSH PRIVATE KEY-----\n{VALUE}\n-----END OPENSSH PRIVATE KEY-----",
        ],
        ["sh", "-c", f"echo '-----BEGIN RSA PRIVATE KEY-----\n{VALUE}"],
        ["--config", f'{{"api_key": "{VALUE}", "lr": 1}}'],
        ["--config", f'{{"api_key":"{VALUE}"}}'],
        ["--config", f"{{'token': '{VALUE}'}}"],
    ],
)
def test_secrets_go(words: list[str]):
    kept = masked(words)
    assert VALUE not in " ".join(kept)
    assert "***" in " ".join(kept)
    assert len(kept) == len(words)


@pytest.mark.parametrize(
    "key",
    [
        "hf_abcdefghijKLMNOPqrstuv",
        "ghp_abcdefghijklmnopqrstuv0123",
        "sk-proj-abcdefghijklmnopqrstuv",
        "AKIAABCDEFGHIJKLMNOP",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def",
    ],
)
def test_keys_are_known_by_their_beginning(key: str):
    assert masked(["login", key, f"x={key},y"]) == ["login", "***", "x=***,y"]


@pytest.mark.parametrize(
    "words",
    [
        ["python", "train.py", "--max-tokens", "512", "--tokenizer=gpt2", "--key-size", "8"],
        ["python", "-m", "package.token", "run"],
        ["python", "token.py", "secret"],
        ["--num_tokens=9", "--tokens", "8", "--keep", "3", "--authors", "me"],
        ["--data", "https://host:8080/data", "s3://bucket/key", "git@host:me/it.git"],
        ["sh", "-c", "cd  /data &&\tpython train.py --lr  1e-3 'a  b'\n"],
        ["--use-auth-token", "--lr", "1"],
        ["--use-auth-token", "-v", "--patience", "3", "--path", "x", "--passes", "2"],
        ["-p", "8080", "-p", "80:8080", "-p", "127.0.0.1:80:80", "-p", "0.5", "-p", "--lr", "1"],
        ["-p", "/usr", "--monkey", "george", "--passkeys-per-user", "3", "--authority", "me"],
        ["--prompt", "It's a long way: to \"Tipperary"],
        ["", "-", "--", "=", ":", " "],
        ["a" * 100_000, "'" * 10_001, "a." * 10_000],
    ],
)
def test_the_rest_stays_as_it_is(words: list[str]):
    assert masked(words) == words
