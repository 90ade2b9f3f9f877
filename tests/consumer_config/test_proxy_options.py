"""proxy_url, as kafka-python writes it: what is taken, what is not, and that it shows no secret."""

import pickle

import pytest
from kafka import KafkaConsumer

from kcore.admin.config import AdminConfig
from kcore.consumer.config import ConsumerConfig
from kcore.errors import KafkaConfigurationError
from kcore.producer.config import ProducerConfig
from kcore.settings.proxies import Proxy, parse_proxy
from kcore.share.config import ShareConsumerConfig

SECRET, USER = "s3cr3t-word", "mallory"


def parsed(url):
    return parse_proxy("proxy_url", url)


@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        ("socks5://p", Proxy("socks5", "p", 1080)),
        ("socks5://p:1", Proxy("socks5", "p", 1)),
        ("SOCKS5H://p.example:1080/", Proxy("socks5h", "p.example", 1080)),
        (" http://10.0.0.1:8080 ", Proxy("http", "10.0.0.1", 8080)),
        ("http://[::1]:3128", Proxy("http", "::1", 3128)),
        ("socks5://[2001:db8::1]", Proxy("socks5", "2001:db8::1", 1080)),
        ("socks5://u:p@h:2", Proxy("socks5", "h", 2, "u", "p")),
        ("socks5://u:p:q@h:2", Proxy("socks5", "h", 2, "u", "p:q")),
        ("socks5://u:p@q/r?s#t@h:2", Proxy("socks5", "h", 2, "u", "p@q/r?s#t")),
        ("socks5h://%75%3a:p%40%25%c3%a9@h:2", Proxy("socks5h", "h", 2, "u:", "p@%é")),
        ("http://token:@h:2", Proxy("http", "h", 2, "token", "")),
        ("http://token@h:2", Proxy("http", "h", 2, "token", "")),
        ("https://p", Proxy("https", "p", 443)),
        ("https://u:p@p:8443", Proxy("https", "p", 8443, "u", "p")),
        (f"socks5://{'u' * 255}:{'p' * 255}@h", Proxy("socks5", "h", 1080, "u" * 255, "p" * 255)),
    ],
)
def test_forms(url, proxy):
    assert parsed(url) == proxy
    assert parsed(proxy) is proxy


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("p:1080", "must be socks5://"),
        (f"{USER}:{SECRET}@p:1080", "must be socks5://"),
        ("://p:1080", "must be socks5://"),
        ("https://p:0", "host:port"),
        ("socks4://p:1080", "no socks4 proxies"),
        ("http://p", "host:port"),  # there is no port that all use
        ("http://", "host:port"),
        ("socks5://p:0", "host:port"),
        ("socks5://p:65536", "host:port"),
        ("socks5://::1", "host:port"),
        ("socks5://p:1/path", "host:port"),
        ("socks5://PLAINTEXT://p:1", "host:port"),
        (f"socks5://{USER}:{SECRET}@", "host:port"),
        (f"socks5://{SECRET}@p", "1 to 255 bytes"),
        (f"socks5://{USER}:{SECRET}{'x' * 255}@p", "1 to 255 bytes"),
        (f"http://:{SECRET}@p:1", "user not empty"),
        (f"http://{USER}%3a:{SECRET}@p:1", "colon"),
        (f"http://{USER}%0d%0a:{SECRET}@p:1", "printable"),
        (f"http://{USER}:{SECRET}\udc80@p:1", "printable"),
        (7, "must be socks5://"),
        ("", "must be socks5://"),
    ],
)
def test_what_is_wrong_is_said_without_it(url, said):
    with pytest.raises(KafkaConfigurationError, match=said) as caught:
        ConsumerConfig.from_options({"proxy_url": url})
    assert caught.value.option == "proxy_url"
    assert SECRET not in str(caught.value)
    assert USER not in str(caught.value)


CONFIGS = {
    ConsumerConfig: {},
    ProducerConfig: {},
    AdminConfig: {},
    ShareConsumerConfig: {"group_id": "g"},
}


@pytest.mark.parametrize("kind", CONFIGS)
@pytest.mark.parametrize("name", ["proxy_url", "socks5_proxy", "proxy.url"])
def test_every_client_has_it_and_shows_no_secret(kind, name):
    config = kind.from_options({name: f"socks5h://{USER}:{SECRET}@p:1", **CONFIGS[kind]})
    assert config.proxy_url == Proxy("socks5h", "p", 1, USER, SECRET)
    assert config.as_mapping()["proxy_url"] == "socks5h://[hidden]@p:1"
    shown = f"{config!r} {config.as_mapping()} {config.links()!r} {config.proxy_url}"
    assert SECRET not in shown
    assert USER not in shown
    assert config.links().link.via == "socks5h://p:1"
    assert pickle.loads(pickle.dumps(config)) == config


def test_without_one():
    config = ConsumerConfig.from_options({})
    assert config.proxy_url is config.as_mapping()["proxy_url"] is None
    assert config.links().link.via == ""


@pytest.mark.parametrize("kind", CONFIGS)
def test_whom_to_trust_is_for_proxies_that_speak_tls(kind):
    given = {"proxy.ssl.cafile": "ca.pem", **CONFIGS[kind]}
    assert kind.from_options({"proxy_url": "https://p", **given}).proxy_ssl_cafile == "ca.pem"
    for more in ({}, {"proxy_url": "http://p:1"}, {"proxy_url": "socks5h://p"}):
        with pytest.raises(KafkaConfigurationError, match="no https:// proxy_url") as caught:
            kind.from_options(given | more)
        assert caught.value.option == "proxy_ssl_cafile"


def test_the_older_name_goes_with_a_newer_one_that_is_not_set():
    both = {"proxy_url": None, "socks5_proxy": None}
    assert ConsumerConfig.from_options(both).proxy_url is None
    for name in both:
        config = ConsumerConfig.from_options({**both, name: "http://p:1"})
        assert config.proxy_url.port == 1
    with pytest.raises(KafkaConfigurationError, match="same option"):
        ConsumerConfig.from_options(dict.fromkeys(both, "http://p:1"))
    assert both.keys() <= KafkaConsumer.DEFAULT_CONFIG.keys()
