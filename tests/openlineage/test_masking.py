"""Secrets are masked, whatever they stand in; everything else stays as it is."""

import importlib
import json
import pkgutil
import re
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from re import _constants, _parser
from typing import Any

import pytest

from headwater.openlineage import masking
from headwater.openlineage.masking import (
    FACET,
    MASK,
    Masker,
    Report,
    hints,
    is_sensitive,
    mask_event,
    masked,
    masker,
    unmasked,
)
from headwater.openlineage.masking.report import MOST_PATHS, MOST_SECRETS

_EXAMPLES = Path(__file__).with_name("masking_examples.txt")
_ESCAPES = {"\\n": "\n", "\\t": "\t"}


def read_examples() -> Iterator[Any]:
    section = ""
    for number, line in enumerate(_EXAMPLES.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("## "):
            section = line.removeprefix("## ").split()[0]
        elif line and not line.startswith("#"):
            text = line.replace("¦", "")
            text = re.sub(r"\\[nt]", lambda found: _ESCAPES[found[0]], text)
            yield pytest.param(text, id=f"{section}:{number}")


@pytest.mark.parametrize("marked", [*read_examples()])
def test_what_is_marked_is_masked_and_nothing_else(marked: str) -> None:
    text, expected = re.sub("[«»]", "", marked), re.sub("«[^»]*»", MASK, marked)
    assert Masker().text(text) == expected
    assert Masker().text(expected) == expected  # what was masked is not masked again


@pytest.mark.parametrize(
    "key",
    [
        "password", "Password", "dbPassword", "passWord", "PASSWD", "db_pass", "pass", "DB_PASS",
        "passphrase", "secret", "clientSecret", "client-secret", "api.key", "apiKey", "APIKey",
        "api_key", "x-api-key", "account.key", "private.key", "privateKey", "private_key", "token",
        "accessToken", "AWS_SESSION_TOKEN", "credentials", "sasl.jaas.config", "Authorization",
        "basic.auth.user.info", "connectionString", "session_id", "Set-Cookie", "MYSQL_PWD",
        "fs.azure.account.key.a.dfs.core.windows.net", "fs.azure.sas.c.a.blob.core.windows.net",
        "spark.hadoop.fs.s3a.secret.key", "ssl.keystore.key", "SharedAccessKey", "webhook_url",
        "SCHEMA_REGISTRY_AUTH", "access_key_id", "userpass", "encryption.key", "otp", "jwt", "pw",
        "user_pw",
    ],
)  # fmt: skip
def test_names_of_secrets(key: str) -> None:
    assert is_sensitive(key)


@pytest.mark.parametrize(
    "key",
    [
        "passenger_count", "pass_rate", "passed", "compass", "first_pass", "bypass", "secretary",
        "tokenizer", "token_type", "token_count", "tokenUrl", "token.endpoint.url", "key", "keys",
        "primary_key", "partition.key", "sort_key", "author", "authority", "oauth_provider",
        "aws.credentials.provider", "credentials_file", "SharedAccessKeyName", "secret_name",
        "secretArn", "password_policy", "password.enabled", "signature", "assignment", "design",
        "user", "username", "info", "session", "connection", "string", "value", "accessor",
    ],
)  # fmt: skip
def test_names_of_other_things(key: str) -> None:
    assert not is_sensitive(key)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"tokens": None, "hasPassword": True}, {"tokens": None, "hasPassword": True}),
        ({"password": 1234}, {"password": MASK}),
        ({"tokens": 1234, "max_tokens": 512}, {"tokens": 1234, "max_tokens": 512}),
        ({"password": ""}, {"password": ""}),
        ({"pass": 3, "fail": 0}, {"pass": 3, "fail": 0}),
        ({"pass": 1234, "user": "u"}, {"pass": MASK, "user": "u"}),
        ({"pass": "hunter2", "fail": 0}, {"pass": MASK, "fail": 0}),
        ({"password": "${env:P}"}, {"password": "${env:P}"}),
        ({"password": "x${env:P}"}, {"password": MASK}),
        ({"credentials": {"a": "x", "b": ["y", {"c": 1}]}},
         {"credentials": {"a": MASK, "b": [MASK, {"c": MASK}]}}),
        ({"name": "db.password", "value": "x"}, {"name": "db.password", "value": MASK}),
        ({"key": "password", "default_value": "x"}, {"key": "password", "default_value": MASK}),
        ({"name": "topics", "value": "x"}, {"name": "topics", "value": "x"}),
        ([["db.password", "x"], ["user", "u"]], [["db.password", MASK], ["user", "u"]]),
        (["password", "email"], ["password", "email"]),
        ({"json": '{"password": "x"}'}, {"json": f'{{"password": "{MASK}"}}'}),
        ({"json": '{"a": {"credentials": {"b": "x"}}}'},
         {"json": f'{{"a": {{"credentials": {{"b": "{MASK}"}}}}}}'}),
        ({"json": '{"password": "x", "password": null}'},
         {"json": f'{{"password": "{MASK}", "password": null}}'}),
        ({"postgres://u:p@h": 1}, {f"postgres://{MASK}@h": 1}),
        ({"namespace": "postgres://u:p@h", "name": "basic words: token=x"},
         {"namespace": f"postgres://{MASK}@h", "name": "basic words: token=x"}),
        ({"name": "jdbc:x://h/d?password=x&a=b"}, {"name": f"jdbc:x://h/d?password={MASK}&a=b"}),
        ({"schema": {"fields": [{"name": "password", "type": "string"}]}},
         {"schema": {"fields": [{"name": "password", "type": "string"}]}}),
        ({"columnLineage": {"fields": {"password": {"inputFields": []}}}},
         {"columnLineage": {"fields": {"password": {"inputFields": []}}}}),
        ({"schema": {"password": "x"}}, {"schema": {"password": MASK}}),
        ({"columnLineage": {"fields": {"a": {"description": "aes_encrypt(a, 'k1')"}}}},
         {"columnLineage": {"fields": {"a": {"description": f"aes_encrypt(a, '{MASK}')"}}}}),
        # What describes a column is kept, whatever its name; what lies in its place is not.
        ({"schema": {"password": ["x"]}}, {"schema": {"password": [MASK]}}),
        ({"schema": {"password": {"x": "y"}}}, {"schema": {"password": {"x": MASK}}}),
        ({"schema": {"a": [{"b": {"credentials": {"user": "u", "c": ["x", 5]}}}]}},
         {"schema": {"a": [{"b": {"credentials": {"user": MASK, "c": [MASK, MASK]}}}]}}),
        ({"lineage": {"fields": {"token": ["x", ["y"]]}}},
         {"lineage": {"fields": {"token": [MASK, [MASK]]}}}),
        ({"schema": {"password": {"type": "string", "default": "x", "nullable": True}}},
         {"schema": {"password": {"type": "string", "default": MASK, "nullable": True}}}),
        ({"schema": {"password": {"type": "int", "value": 4711}}},
         {"schema": {"password": {"type": "int", "value": MASK}}}),
        ({"schema": {"fields": {"credentials": {"fields": {"password": "x"}}}}},
         {"schema": {"fields": {"credentials": {"fields": {"password": MASK}}}}}),
        ({"dataQualityMetrics": {"columnMetrics": {"password": {
            "nullCount": 3, "min": "hunter2", "max": 9, "quantiles": {"0.5": "x"}}}}},
         {"dataQualityMetrics": {"columnMetrics": {"password": {
             "nullCount": 3, "min": MASK, "max": 9, "quantiles": {"0.5": MASK}}}}}),
        *((kept, kept) for kept in (
            {"schema": {"password": "varchar(20)"}},
            {"schema": {"password": ["null", "string"]}},
            {"schema": {"password": [{"type": "string"}, {"type": "null"}]}},
            {"schema": {"type": "object", "required": ["password"], "properties": {
                "password": {"type": "string", "description": "of the user", "maxLength": 20},
                "credentials": {"type": "object", "properties": {
                    "token": {"type": ["string", "null"], "format": "uuid"}}}}}},
            {"schema": {"fields": [{"name": "credentials", "type": "struct", "fields": [
                {"name": "password", "type": "string", "description": "hashed"}]}]}},
            {"columnLineage": {"fields": {"password": {
                "inputFields": [{"namespace": "n", "name": "t", "field": "password",
                                 "transformations": [{"type": "DIRECT", "subtype": "IDENTITY",
                                                      "description": "a", "masking": False}]}],
                "transformationDescription": "as it is", "transformationType": "IDENTITY"}}}},
            {"lineage": {"fields": {"token": {"inputs": [
                {"type": "DATASET", "namespace": "n", "name": "t", "field": "token"}]}}}},
            {"dataQualityMetrics": {"columnMetrics": {"password": {
                "nullCount": 3, "distinctCount": 5, "entropy": 1.5, "min": 1}}}},
            {"columns": {"password": "varchar(20)", "token": "array<string>", "id": "bigint"}},
            [["password", "varchar"], ["id", "int"]],
            [["password", "varchar(20)"]],
            [["token", "StringType()"], ["secret", "timestamp with time zone"]],
            {"max_token": 4096, "password_length": 12, "passwordMaxAgeDays": 90},
        )),
        ([["password", "string"], ["user", "bob"]], [["password", MASK], ["user", "bob"]]),
        ([["password", "hunter2"], ["token", "int"]], [["password", MASK], ["token", MASK]]),
        ({"password": "string", "user": "bob"}, {"password": MASK, "user": "bob"}),
        ({"password": "string"}, {"password": MASK}),
        ({"api_key": 123456, "DB_PASS": 1, "db_pass": "1234"},
         {"api_key": MASK, "DB_PASS": MASK, "db_pass": MASK}),
        ({"url": "postgres://bob:4711@h/d"}, {"url": f"postgres://{MASK}@h/d"}),
        # A private key as a list of its lines.
        (["a b", "-----BEGIN RSA PRIVATE KEY-----", "Proc-Type: 4,ENCRYPTED", "", "MIIEow==",
          "-----END RSA PRIVATE KEY-----", "and more"], ["a b", *[MASK] * 5, "and more"]),
        (["-----BEGIN PRIVATE KEY-----\n", "MIIEow\n", "c29tZQ==\n", "the end", "MIIEow"],
         [*[MASK] * 3, "the end", "MIIEow"]),
        ({"key": ["---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----", 'Comment: "x"', "P2/56wAA",
                  "---- END SSH2 ENCRYPTED PRIVATE KEY ----"], "next": "MIIEow"},
         {"key": [MASK] * 4, "next": "MIIEow"}),
        (["PuTTY-User-Key-File-2: ssh-rsa", "Public-Lines: 1", "AAAAB3Nz", "Private-Lines: 1",
          "AAABAQCk", "Private-MAC: 0a1b2c", "a"],
         ["PuTTY-User-Key-File-2: ssh-rsa", "Public-Lines: 1", "AAAAB3Nz", *[MASK] * 3, "a"]),
        *((kept, kept) for kept in (
            ["-----BEGIN CERTIFICATE-----", "MIIEow", "-----END CERTIFICATE-----"],
            ["-----BEGIN PUBLIC KEY-----", "MIIEow", "-----END PUBLIC KEY-----"],
            ["a private key", "MIIEow"],
        )),
        (["-----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY-----", "MIIEow"],
         [MASK, "MIIEow"]),
        ({"text": '["-----BEGIN PRIVATE KEY-----", "MIIEow", "-----END PRIVATE KEY-----"]'},
         {"text": json.dumps([MASK] * 3)}),
        (["--password", "x y"], ["--password", MASK]),
        (["run", "--token", "x", "--conf", "a b"], ["run", "--token", MASK, "--conf", "a b"]),
        (["--password", "--verbose"], ["--password", "--verbose"]),
        (["mysql", "-u", "root", "-phunter2"], ["mysql", "-u", "root", f"-p{MASK}"]),
        (["curl", "-u", "bob:hunter2", "http://h"], ["curl", "-u", f"bob:{MASK}", "http://h"]),
        (["--conf", '{"password": "x"}'], ["--conf", f'{{"password": "{MASK}"}}']),
        (["-", "a", "b"], ["-", "a", "b"]),
        (["--token-file", "x", "--name", "y"], ["--token-file", "x", "--name", "y"]),
        ({"Name": "password", "Value": "x"}, {"Name": "password", "Value": MASK}),
        ({"KEY": "DB_PASSWORD", "VALUE": "x"}, {"KEY": "DB_PASSWORD", "VALUE": MASK}),
        ({"password=hunter2": None, "a=b": 2}, {f"password={MASK}": None, "a=b": 2}),
        ({"my_pin": "1234", "pin": "1"}, {"my_pin": MASK, "pin": "1"}),
    ],
)  # fmt: skip
def test_values_are_masked_by_their_keys(value: Any, expected: Any) -> None:
    assert Masker(("my_.*pin",)).value(value) == expected


_SIGNED = [
    (
        "https://b.s3.amazonaws.com/k?X-Amz-Algorithm=AWS4&X-Amz-Credential={0}%2F2026&X-Amz-Date={0}"
        "&X-Amz-Expires={0}&X-Amz-SignedHeaders=host&X-Amz-Security-Token={0}&X-Amz-Signature={0}"
    ),
    "https://b.s3.amazonaws.com/k?AWSAccessKeyId={0}&Signature={0}%3D&Expires={0}",
    (
        "https://storage.googleapis.com/b/k?X-Goog-Credential={0}&X-Goog-Date={0}&X-Goog-Expires={0}"
        "&X-Goog-Signature={0}"
    ),
    "https://storage.googleapis.com/b/k?GoogleAccessId=a&Expires={0}&Signature={0}",
    "https://a.blob.core.windows.net/c/b?sv=2020-08-04&st={0}&se={0}&sr=b&sp=r&sig={0}%2F",
    "https://d.cloudfront.net/x?Policy={0}&Signature={0}~&Key-Pair-Id=K",
]


@pytest.mark.parametrize("address", _SIGNED)
def test_an_address_keeps_its_name_when_it_is_signed_anew(address: str) -> None:
    events = [{"inputs": [{"namespace": address.format(n), "name": address.format(n)}]}
              for n in ("hunter1", "hunter2")]  # fmt: skip
    first, second = (mask_event(Masker(), event)[0]["inputs"] for event in events)
    assert first == second
    assert "hunter" not in json.dumps(first)
    assert Masker().name(first[0]["name"]) == first[0]["name"]
    assert hints.has_hint(address)


@pytest.mark.parametrize(
    "name", ["https://h/x?expires=1&se=2", "https://h/x?st=a&policy=b", "t?sigma=1&x-amz-date=2"]
)
def test_other_parameters_are_part_of_a_name(name: str) -> None:
    assert Masker().name(name) == name


@pytest.mark.parametrize("depth", [90, 110, 350, 900, 5_000])
@pytest.mark.parametrize("kind", ["object", "list", "text"])
def test_what_lies_too_deep_is_masked(depth: int, kind: str) -> None:
    value: Any = {"password": "hunter2"}
    for _ in range(min(depth, 900)):
        value = {"a": value} if kind != "list" else [value]
    if kind == "text":
        value = "[" * depth + json.dumps({"password": "hunter2"}) + "]" * depth
    report = Report()
    clean = Masker().value(value, report)
    assert report.rules.total() == 1
    assert "hunter2" not in str(clean)


def test_an_event_says_what_was_masked_in_it() -> None:
    event = {
        "run": {"runId": "x", "facets": {"p": {"properties": {"a.password": "x", "b": "c"}}}},
        "job": {"name": "j", "facets": {"sql": {"query": "ALTER USER a PASSWORD 'x'"}}},
    }
    clean, report = mask_event(Masker(), event)
    facet = clean["run"]["facets"][FACET]
    assert facet["rules"] == {"assignment": 1, "key": 1} == dict(report.rules)
    assert facet["paths"] == ["run.facets.p.properties.a.password", "job.facets.sql.query"]
    assert not mask_event(Masker(), clean)[1]
    clean["job"]["facets"]["more"] = {"token": "x"}
    again = mask_event(Masker(), clean)[0]["run"]["facets"][FACET]
    assert again["rules"] == {"assignment": 1, "key": 2}
    assert again["paths"] == [*facet["paths"], "job.facets.more.token"]


@pytest.mark.parametrize("marked", [*read_examples()])
def test_an_event_is_masked_once_whether_a_secret_is_a_value_or_a_key(marked: str) -> None:
    text = re.sub("[«»]", "", marked)
    event = {"run": {"facets": {"f": {text: 1, "value": [text]}}}}
    clean, report = mask_event(Masker(), event)
    assert all(secret not in str(clean) for secret in re.findall("«([^»]{6,})»", marked))
    again, twice = mask_event(Masker(), json.loads(json.dumps(clean)))
    assert again == clean
    assert not twice
    assert clean["run"]["facets"].get(FACET, {}).get("rules", {}) == dict(report.rules)


def test_the_report_names_no_secret_and_has_an_end() -> None:
    event = {"dataset": {"facets": {"f": {f"http://u:hunter2{n}@h": {"token": "hunter2"}
                                          for n in range(500)}}}}  # fmt: skip
    clean, report = mask_event(Masker(), event)
    assert "hunter2" not in json.dumps(clean)
    assert len(clean["dataset"]["facets"][FACET]["paths"]) <= MOST_PATHS
    assert report.rules["address"] == 500


def test_a_configuration_is_masked_whatever_its_other_values_are() -> None:
    config = {"db.password": "x", "nothing": None, "number": 5, "flag": True,
              "reference": "${env:P}", "connection.user": "u",
              "connection.url": "jdbc:postgresql://u:p@h/d"}  # fmt: skip
    shown = masked(config)
    assert shown == {**config, "db.password": MASK,
                     "connection.url": f"jdbc:postgresql://{MASK}@h/d"}  # fmt: skip
    assert unmasked(shown, config) == config
    assert unmasked({**shown, "number": 6, "new": "y"}, config) == {
        **config, "number": 6, "new": "y"
    }  # fmt: skip


_HOSTILE = [
    "password", "password=", "password:", "password ", "password='", 'password="\\"', "password=[",
    "password={", "password=${", "password=\n'", "token=a_token,", "token:f(", "token:map(",
    "token \\\"", "(password=x)/", "('password',", "--token ", "(", '"', "'", "\\", "://", "://a:",
    "://a:/", "://a:b@", "a:,", "@tcp(", "jdbc:oracle:thin:u/", "eyJ-", "sk-", "sk-a-", "bearer ",
    "cookie:", "-----BEGIN PRIVATE KEY-----", "<password>", "<a>", "mysql a ", "curl -u ",
    "create user ", "identified by ", "aes_encrypt(a", "urn:token:", "_type", "Ab", "x", " ", "\n",
    '{"a":', "[", '["token",', "[[", "password $a$", "password $$", "password/*", "password/**/",
    "password --", "password/*\n", "password 'a' || ", "password 'a' ", "password 'a'||a||", "%3D",
    "password%3D", "a%26token%3D", "name=password ", "value=a name=password", "key=password,value=",
    "(value='x' key='token' ", '<a name="token" ', "<name>token</name>", "<value>x</value><name>",
    "<property><name>token</name>", "secrets.put(", "secrets.put('a',", "token: |\n ",
    "password: |\n",
    "password:\n  a:", "%3A%2F%2Fa%3A", "%3A%2F%2F", "%40", "sig=", "sig%3D", "?sig=a&se=",
    "identified /*", "identified by 'a' replace ", "connect to a ", "link a connect to ", "q'[",
    "password=q'[", "token in ('a', ", "password: !!a ", "password: &a ", "token: A[", "token: A<B",
    "token: A.b | ", "lambda token: ", "lambda x, ", "def f(token: X, ", "def def token: X ",
    "class A:\n  token: X\n", "token::a ", "token::a = ", "token -> x ", "Map(token -> ", "Map(",
    "PWD={", ";PWD={a", ";PWD={a};", "PWD={a};x={a};", '"token: " + ', "'token=' || ", "x = /*",
    "x /*", "x = /* token = /* ", "token = /* " * 70 + "*/ :token ",
    "x = -- token = ", "token text default '", "passwords:\n- a\n",
    "- passwords:\n", "passwords: [a, ", "if token: x = ", "if if token: x",
    "password = coalesce('",
    "token = x or ", "https://a.b", "https://aB.cD@", "col('token') = ", "token = {a b",
    "token: T = ", "glrt-", "xapp-1-", "1//0", "hvb.", "dp.pt.", "whsec_", ".atlasv1.", "glpat-a.",
    "---- BEGIN SSH2 PRIVATE KEY ----", "---- BEGIN ", "Private-Lines: 1", "://a:1@", "://a:1,",
    "://1.1.1.1:1@", "password=1 ", "comment on column password is '", "comment on ", "pass=1 ",
    "[('password', 'string'), ", "('token', 'a<", "security label on column token is 'x' ",
    "=", "(a", "\\(-", "token数$a$", "value=`token:", "-----BEGIN PRIVATE KEY-----x", "a /*",
]  # fmt: skip


_SIGNS = (": ", "=", " = ", ":=", " -> ", " is ", "(", " ")
_OPENINGS = (
    "- ", "- a ", "- {{ ", "[", "[a, ", "{", "{{", "(", "'", '"', "`", "$$", "|\n ", "|#", "/*",
    "--", "a,", "a|", "\\", "!!a ", "&a ", "f(", "${", "%(", "<", "*/", "a'.", "#",
)  # fmt: skip
_FOLLOWING = [f"token{sign}{opening}" for sign, opening in product(_SIGNS, _OPENINGS)]


@pytest.mark.parametrize("part", [*_HOSTILE, *_FOLLOWING])
def test_work_grows_with_the_length_of_a_text(part: str) -> None:
    """Of eight times the text, the work is some eight times; were it the square, it were 64."""

    def work(length: int) -> float:
        text = (part * length)[:length] + "@"
        began = time.thread_time()
        Masker().text(text)
        return time.thread_time() - began

    small, large = (min(work(length) for _ in range(2)) for length in (10_000, 80_000))
    assert large < 24 * max(small, 0.0005)


@pytest.mark.parametrize("line", ["Private-Lines: 1", "-----BEGIN PRIVATE KEY-----", "x"])
def test_work_grows_with_the_number_of_lines_of_a_list(line: str) -> None:
    def work(count: int) -> float:
        values = ["-----BEGIN PRIVATE KEY-----", *[line] * count]
        began = time.thread_time()
        Masker().value(values)
        return time.thread_time() - began

    small, large = (min(work(count) for _ in range(2)) for count in (1_000, 8_000))
    assert large < 24 * max(small, 0.0005)


@pytest.mark.parametrize("part", ["password", "password=x ", "http://a:b@c ", "curl -u a:b "])
def test_a_text_that_is_too_long_to_be_searched_is_masked_as_a_whole(part: str) -> None:
    report = Report()
    assert Masker().text(part * (masker.LONGEST // len(part) + 1), report) == MASK
    assert report.rules == {"size": 1}


def test_a_long_text_without_a_word_of_secrets_stays() -> None:
    text = "SELECT a FROM b; " * (masker.LONGEST // 16)
    assert Masker().text(text) == text
    assert Masker(("iban",)).text(text) == text
    assert Masker(("iban",)).text(f"{text} iban=5") == MASK


def test_a_long_document_is_searched_value_by_value() -> None:
    text = json.dumps({"a": ["x" * 1000] * 2000, "password": "hunter2"})
    assert len(text) > masker.LONGEST
    assert json.loads(Masker().text(text)) == {"a": ["x" * 1000] * 2000, "password": MASK}


def test_after_many_secrets_the_rest_is_masked_unseen() -> None:
    texts = ["password=hunter2"] * (MOST_SECRETS + 1000)
    event = {"many": texts, "one": "password=x " * 50_000, "type": "RUNNING", "name": "a=b",
             "kept": 5, "other": "a long text that holds nothing"}  # fmt: skip
    report = Report()
    clean = Masker().value(event, report)
    assert "hunter2" not in str(clean)
    assert clean["many"][0] == f"password={MASK}"
    assert clean["many"][-1] == clean["one"] == clean["other"] == MASK
    assert (clean["type"], clean["name"], clean["kept"]) == ("RUNNING", "a=b", 5)
    assert report.rules["size"] == 1000 + 2


def test_every_text_that_masking_changes_has_a_hint() -> None:
    for example in read_examples():
        text = re.sub("[«»]", "", str(example.values[0]))
        if Masker().text(text) != text and not text.lstrip().startswith(("{", "[")):
            assert hints.has_hint(text), text
            assert hints.has_hint("x" * (2**16 - 7) + " " + text), text


def test_no_pattern_repeats_a_repetition() -> None:
    """Only of such does the time grow without measure; what has no end takes one kind of letter."""
    for found in pkgutil.iter_modules(masking.__path__, f"{masking.__name__}."):
        module = importlib.import_module(found.name)
        for name, pattern in vars(module).items():
            if isinstance(pattern, re.Pattern):
                _check(_parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE), name)


def _check(parsed: Any, name: str) -> None:
    for kind, argument in parsed:
        if kind in (_constants.MAX_REPEAT, _constants.MIN_REPEAT):
            _, most, inner = argument
            if most == _constants.MAXREPEAT:
                assert len(inner) == 1, name
                assert inner[0][0] in (_constants.IN, _constants.ANY, _constants.NOT_LITERAL), name
            _check(inner, name)
        elif kind == _constants.SUBPATTERN:
            _check(argument[-1], name)
        elif kind == _constants.BRANCH:
            for branch in argument[1]:
                _check(branch, name)
