"""A secret is masked wherever it stands, and code that only names one stays as it is."""

import re
import time

import pytest

from headwater.openlineage.masking import MASK, Masker
from openlineage.test_masking import read_examples

_SECRETS = [one for one in read_examples() if "«" in str(one.values[0])]
# What an assignment to a harmless name puts before a secret.
_PREFIXES = {
    "block comment": ("x = /* {} */ 5", r"\*/"),
    "line comment": ("x = -- {}\n 5", r"\n"),
    "comment after arrow": ("x => /* {} */ 5", r"\*/"),
    "comment after colon": ("x: /* {} */ b", r"\*/"),
    "comment after name": ("OPTIONS (url /* {} */ 'jdbc:x')", r"\*/"),
    "line comment after name": ("OPTIONS (url -- {}\n 'jdbc:x')", r"\n"),
    "colon": ("x: {}", "$^"),
    "equals": ("x={}", "$^"),
    "spaced equals": ("x = {}", "$^"),
    "comment after a secret": ("password = /* {} */ 5", r"\*/"),
    "comment before a variable": ("password = -- {}\n :password", r"\n"),
}


@pytest.mark.parametrize("prefix", _PREFIXES)
def test_a_secret_is_masked_behind_an_assignment_to_another_name(prefix: str) -> None:
    template, ends = _PREFIXES[prefix]
    left = []
    for example in _SECRETS:
        marked = str(example.values[0])
        if re.search(ends, marked):
            continue
        clean = Masker().text(template.format(re.sub("[«»]", "", marked)))
        secrets = [one for one in re.findall("«([^»]{6,})»", marked) if "\n" not in one]
        left += [(example.id, clean) for secret in secrets if secret in clean]
    assert not left


_NAMES = [
    "password", "token", "secret", "api_key", "apiKey", "passwd", "access_token", "clientSecret",
    "credential", "db_password", "private_key",
]  # fmt: skip
# Code that names a secret (@) and holds none.
_CODE = {
    "SQL": [
        "SELECT payload:@::string FROM t",
        "SELECT src:customer.@::varchar, src:@::int FROM t",
        "SELECT @::text, x FROM t",
        "SELECT @::varchar(20) FROM t WHERE @::text IS NOT NULL",
        "SELECT @:sub::string FROM t",
        "SELECT v:@.sub::string AS s FROM t",
        "SELECT @ :: numeric(10, 2) FROM t",
        "SELECT filter(xs, @ -> @ != '')",
        "SELECT transform(xs, @ -> upper(@))",
        "SELECT transform(xs, @ -> (@, 1))",
        "SELECT transform(xs, @ -> concat('Bearer ', @))",
        "SELECT aggregate(xs, 0, (acc, @) -> acc + length(@))",
        "SELECT exists(xs, @ -> @ IS NOT NULL)",
        "SELECT exists(xs, @ -> size > 5)",
        "SELECT transform(xs, @ -> 1)",
        "SELECT @->>'user', @->'user' FROM t",
        "CREATE TABLE t (@ VARCHAR(20), x INT)",
        "CREATE TABLE t (a STRUCT<@: ARRAY<STRING>, x: MAP<STRING, INT>>)",
        "UPDATE t SET @ = (SELECT max(x) FROM u)",
        "UPDATE t SET @ = CASE WHEN x THEN y ELSE z END",
        "UPDATE t SET @ = DEFAULT WHERE id = 5",
        "SELECT 'host=h @=' || pw || ' dbname=d' FROM t",
        "SELECT * FROM t WHERE @ = ANY (ARRAY[x]) AND @ = ALL (SELECT y FROM z)",
    ],
    "Scala": [
        "words.map(@ => (@, 1))",
        "words.map(@ => @.length)",
        "words.map { @ => @.trim }",
        "words.map(@ => @)",
        "words.filter(@ => !seen(@))",
        "words.foreach { @ =>\n  println(@)\n}",
        "words.map(@ => length)",
        "x match { case @ => 5 }",
        "case class U(@: Option[String], x: Seq[String])",
        "val @: Broadcast[String] = sc.broadcast(x)",
        "val @: Dataset[Row] = spark.table(x)",
        "def f(@: Column, x: Column): Column = x",
        "def f(@: MyOwnType): Unit = ()",
        "def f(x: Int)(@: Seq[(String, Int)]) = x",
        "val @: Future[Either[Error, String]] = f",
        "@: Dataset[Row]",
        "@: Column",
        "val @ = new Reader(x)",
        "val @ = args(0)",
        'val s = "@=" + x',
    ],
    "Python": [
        "lambda @: (@, 1)",
        "lambda @: [@]",
        "lambda @: len(@)",
        "lambda x, @: x",
        "sorted(xs, key=lambda @: @.size)",
        "def f(@: List[str], x: Dict[str, str])",
        "def f(@: list[str] | None = None) -> None: ...",
        "def f(@: dict[str, list[int]], *, x: int) -> None: ...",
        "def f(@: datetime, x: MyOwnType) -> None: ...",
        "def f(\n    @: Column,\n    x: pd.Series,\n) -> None:",
        "@: Optional[Dict[str, Any]] = None",
        "@: pd.DataFrame",
        "if not @: continue",
        "if @: return",
        "while @: pass",
        "if x and not @: raise ValueError(x)",
        "if @: x = 1",
        "if @ is None: break",
        "for @ in xs: yield @",
        'getpass.getpass("@: ")',
        'x = input("Enter the @: ")',
        "x = getpass.getpass('@: ')",
        'print("@:", x)',
        'print("@=" + x)',
        'x = "&@=" + quote(y) + "&a=b"',
        "@ = xs[i]",
        "@ = headers[name]",
        "@ = await fetch(x)",
        "@ = not x",
        "@ = [x for x in xs]",
        "@ = x if y else z",
        "@ = self.value",
        "@ = args.value",
        "class A:\n    @: MyOwnType\n    x: int",
    ],
    "TypeScript": [
        "const f = (@: string[]) => @.length;",
        "function f(@: Promise<string>, x: Map<string, number>) { return x; }",
        "interface A {\n  @: MyOwnType;\n  x: string;\n}",
        "@: string | null;",
        "const f = @ => @.length;",
        "xs.map(@ => ({ @: @ }));",
        "const @ = await fetch(x);",
        "const { @: other } = props;",
        "@ = process.env.VALUE;",
    ],
    "Java": [
        "xs.forEach(@ -> seen.add(@));",
        "xs.stream().map(@ -> @.trim());",
        "Map<String, List<String>> @ = new HashMap<>();",
        "String @ = new String(x);",
        "this.x = $@->value;",
    ],
    "other": [
        "@: ${{ secrets.VALUE }}",
        "@: {{ .Values.x }}",
        "@ = var.x",
        "@: !Ref X",
        "@={x}",
        'read -s -p "@: " x',
        'echo -n "@: "',
        '"UID={user};PWD={@};Server={host}"',
    ],
}  # fmt: skip
_TEMPLATES = [(language, template) for language in _CODE for template in _CODE[language]]


@pytest.mark.parametrize(("language", "template"), _TEMPLATES)
def test_code_that_names_a_secret_stays(language: str, template: str) -> None:
    texts = [template.replace("@", name) for name in _NAMES]
    assert [Masker().text(text) for text in texts] == texts


# The same places with a secret in them (#).
_ASSIGNED = [
    "SELECT * FROM t WHERE @::text = '#'",
    "SELECT * FROM t WHERE payload:@::string IN ('#', 'x')",
    "UPDATE t SET @ = '#'::text",
    "Map(user -> bob, @ -> #)",
    "options: Map(@ -> #, user -> bob)",
    "CALL f(@ => '#')",
    "connection {\n  @ => #\n}",
    "Map(@ -> \"#\")",
    "val @: Option[String] = Some(\"#\")",
    "@: SecretStr = SecretStr(\"#\")",
    "def f(@: Optional[Any] = \"#\") -> None: ...",
    "def f(@: MyOwnType = \"#\") -> None: ...",
    "class A:\n    @: MyOwnType = '#'",
    "if not @: @ = '#'",
    "x = \"@=\" + \"#\"",
    "x = \"?a=b&@=#\" + y",
    "print(\"@: #\")",
    "@ = lit(\"#\")",
    "interface: eth0\n@: #",
    "the user: bob and @: #",
    "@: # if you need it",
    "PWD={#};Server=x",
    "Driver={SQL Server};Server=x;Pwd={#};",
    "Driver={SQL Server};UID=u;@={#}",
    "Driver={SQL Server};@={a b#};Server=x",
    "https://#@github.com/x",
]  # fmt: skip


@pytest.mark.parametrize("template", _ASSIGNED)
def test_secrets_in_code_are_masked(template: str) -> None:
    for name in _NAMES:
        text = template.replace("@", name, template.count("@") - ("@git" in template))
        clean = Masker().text(text.replace("#", "Hx7kQ2pLz9"))
        assert "Hx7kQ2pLz9" not in clean
        assert MASK in clean
        assert Masker().text(clean) == clean


@pytest.mark.parametrize(
    "user", ["bob", "user", "jane.doe", "svc-etl-prod", "user123", "JaneDoe", "bob%40corp.example",
             "deploy_service_account", "git", "r2d2"],
)  # fmt: skip
@pytest.mark.parametrize("scheme", ["http", "https", "postgres", "ssh"])
def test_a_user_without_a_password_stays(scheme: str, user: str) -> None:
    assert Masker().text(f"{scheme}://{user}@host/path") == f"{scheme}://{user}@host/path"


@pytest.mark.parametrize(
    "token",
    ["ghp_abcdef123", "glpat-abc-def-ghi", "a8f5f167f44f4964e6c998dee827110c", "Hx7kQ2pLz9",
     "x1y2z3a4b5", "abcdefghijklmnopqrstuvwxyz", "AKIA0123456789", "dapi0123abcd"],
)  # fmt: skip
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_token_in_place_of_a_user_is_masked(scheme: str, token: str) -> None:
    assert Masker().text(f"{scheme}://{token}@host/path") == f"{scheme}://{MASK}@host/path"


@pytest.mark.parametrize("line", ["        x = 1", "        ", "\t \t ", "", " \r", "    x: {"])
@pytest.mark.parametrize("head", ["class A:", "interface A {", "def f(a):", "if x:", "x = {"])
def test_the_lines_before_a_name_are_read_once(head: str, line: str) -> None:
    text = "\n".join([head, *[line] * 19, "        y token: Tok, password: Tok"])
    began = time.thread_time()
    Masker().text(text)
    assert time.thread_time() - began < 0.5
