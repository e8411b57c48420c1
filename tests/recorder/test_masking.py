"""What is kept of command lines, and what must not be."""

from __future__ import annotations

import pytest

from timesink.recorder.processes import mask_secrets

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
    masked_words = mask_secrets(words)
    assert VALUE not in " ".join(masked_words)
    assert "***" in " ".join(masked_words)
    assert len(masked_words) == len(words)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["mysql", "-u", "root", "-p", "12345"], ["mysql", "-u", "root", "-p", "***"]),
        (["/usr/bin/mysqldump", "-phunter2", "-P", "3306"], [..., "-p***", "-P", "3306"]),
        (["mariadb-dump", "-p12345", "db"], [..., "-p***", "db"]),
        (["mysql", "-p", "-h", "host"], ["mysql", "-p", "-h", "host"]),
        (["mysqladmin", "-p", "run/name"], [..., "-p", "***"]),
        (["sshpass", "-p", "12345", "ssh", "-p", "22"], [..., "-p", "***", "ssh", "-p", "22"]),
        (["sshpass", "-p12345", "mysql", "-p1"], [..., "-p***", "mysql", "-p***"]),
        (["redis-cli", "-a", "12345", "-p", "6379"], [..., "-a", "***", "-p", "6379"]),
        (["sudo", "-E", "mongodump", "-p", "1234"], ["sudo", "-E", "mongodump", "-p", "***"]),
        (["7z", "a", "-p1234", "x.7z"], ["7z", "a", "-p***", "x.7z"]),
        (["zip", "-P", "12"], ["zip", "-P", "***"]),
        (["ldapsearch", "-w", "12"], ["ldapsearch", "-w", "***"]),
        (["sh", "-c", "mysql -p12 db; ssh -p 22 x"], ["sh", "-c", "mysql -p*** db; ssh -p 22 x"]),
        (["sh", "-c", "mysql -p12; serve -p 80"], ["sh", "-c", "mysql -p*** serve -p 80"]),
        (["--secret-pad-token", "12"], ["--secret-pad-token", "***"]),
    ],
)
def test_passwords_of_usual_commands_go(words: list[str], expected: list[object]):
    """Also numbers, after a letter that is a port elsewhere."""
    assert mask_secrets(words) == [words[0] if word is ... else word for word in expected]


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
    assert mask_secrets(["login", key, f"x={key},y"]) == ["login", "***", "x=***,y"]


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
        ["-p", "run/name", "-p", "out/run-1/", "-p", "~/none/such", "-p", "../none/such"],
        ["python", "-port", "80", "-patience3"],
        ["--eos-token", "</s>", "--pad_token_id", "0", "--bos_token=<s>", "eosToken=</s>"],
        ["--tokenizer.unk-token", "<unk>", "--mask_token_id=4", "--sep-token", "x"],
        ["--prompt", "It's a long way: to \"Tipperary"],
        ["", "-", "--", "=", ":", " "],
        ["a" * 100_000, "'" * 10_001, "a." * 10_000],
    ],
)
def test_the_rest_stays_as_it_is(words: list[str]):
    assert mask_secrets(words) == words
