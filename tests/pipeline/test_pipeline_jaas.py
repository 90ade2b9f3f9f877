"""`sasl.jaas.config`, as JaasContext of kafka-clients 4.3.1 was seen to read it."""

import pytest

from kcore.pipeline.jaas import JaasError, Login, read_jaas

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


@pytest.mark.parametrize(
    ("rest", "options"),
    [
        ("", {}),
        ('username="u" password="p"', {"username": "u", "password": "p"}),
        ("username = u password\n=\tp ", {"username": "u", "password": "p"}),
        ("username=\"u\"password='p'", {"username": "u", "password": "p"}),
        ('username="u;v" password="a=b c"', {"username": "u;v", "password": "a=b c"}),
        (r'password="p\"q\\r\n\t\101\60\477\x"', {"password": 'p"q\\r\n\tA0\x277x'}),
        (r"password='\a\b\f\r\v\0\'\"'", {"password": "\a\b\f\r\v\0'\""}),
        ("""username="ü'" password='p"x'""", {"username": "ü'", "password": 'p"x'}),
        ('username="u" username="w" password=""', {"username": "w", "password": ""}),
        ('/* a "b" ; */ username="u" // c ;\n x=y', {"username": "u", "x": "y"}),
        ('username="/*" password="//"', {"username": "/*", "password": "//"}),
        ('user-name=a user_name=b sasl.c="d"', {"user-name": "a", "user_name": "b", "sasl.c": "d"}),
        ("username=$ConnectionString", {"username": "$ConnectionString"}),
        # Java wants quotes around these; nothing else can be meant.
        ("username=u@b.c password=a/b#c==", {"username": "u@b.c", "password": "a/b#c=="}),
        ("username=12 password=0012.50", {"username": "12", "password": "0012.50"}),
    ],
)
def test_options_of_a_login(rest, options):
    assert read_jaas(f"{PLAIN} required {rest};") == Login(PLAIN, options)
    assert read_jaas(f"// of a team\n{PLAIN}\nrequired {rest} ; // end") == Login(PLAIN, options)


@pytest.mark.parametrize("flag", ["required", "REQUIRED", "Requisite", "sufficient", "optional"])
def test_a_flag_in_any_case(flag):
    assert read_jaas(f'{PLAIN} {flag} username="u";') == Login(PLAIN, {"username": "u"})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "a login module is expected at character 0"),
        ("  ;", "a login module is expected at character 2"),
        (PLAIN, "a control flag such as `required` behind the login module is expected"),
        (f"{PLAIN} ;", "a control flag such as `required` behind the login module is expected"),
        ('M username="secret";', "the control flag is one of required, .*, and not 'username'"),
        ("M required", "it has to end with `;`"),
        ('M required username="secret"', "it has to end with `;`"),
        ('M required username="secret" // ;', "it has to end with `;`"),
        ("M required /* ;", "an option, or `;`, is expected at character 11"),
        ("M required username;", "`=` and a value are expected at character 19"),
        ('M required password="a"secret";', "`=` and a value are expected at character 29"),
        ("M required username=;", "the value of username is missing"),
        ("M required username=", "the value of username is missing"),
        ('M required password="secret;', "the value of password is missing, or its quotes do not"),
        ('M required password="sec\nret";', "the value of password is missing, or its quotes do"),
        ('M required password="secret\\', "the value of password is missing, or its quotes do not"),
        ('M required a="b";;', "one login module is all that may be there"),
        ('M required a="b"; M required a="c";', "one login module is all that may be there"),
    ],
)
def test_what_java_does_not_read_either_is_said_without_its_values(text, said):
    with pytest.raises(JaasError, match=said) as caught:
        read_jaas(text)
    assert "secret" not in str(caught.value)
