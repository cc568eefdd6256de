"""Formats of the network: URIs, mail addresses, host names, IP and MAC addresses, each as Go's parsers read them."""

import ipaddress
import re
from collections.abc import Callable
from functools import cache

from setpoint.schema.regex import matcher

_HOST = r"[a-zA-Z0-9\p{S}\p{L}]"


@cache
def _hostname() -> Callable[[str], object]:
    """Compiles the pattern on first use: RE2 takes some hundred milliseconds for all Unicode letters."""
    return matcher(
        rf"^({_HOST}((-?{_HOST}{{0,62}})?)"
        rf"|({_HOST}(([a-zA-Z0-9-\p{{S}}\p{{L}}]{{0,61}}{_HOST})?)(\.)){{1,}}([a-zA-Z\p{{L}}]){{2,63}})$"
    )


def is_hostname(text: str) -> bool:
    return bool(_hostname()(text)) and _octets(text) <= 255 and all(_octets(label) <= 63 for label in text.split("."))


def _octets(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


# --- addresses ---

_mac = re.compile(
    r"(?:[0-9a-fA-F]{2}(?P<mark>[:-]))(?:[0-9a-fA-F]{2}(?P=mark)){4}(?:(?:[0-9a-fA-F]{2}(?P=mark)){2})?"
    r"(?:(?:[0-9a-fA-F]{2}(?P=mark)){12})?[0-9a-fA-F]{2}\Z"
    r"|(?:[0-9a-fA-F]{4}\.){2}(?:[0-9a-fA-F]{4}\.)?(?:(?:[0-9a-fA-F]{4}\.){6})?[0-9a-fA-F]{4}\Z"
)
_MAC_OCTETS = (6, 8, 20)
_dotted = re.compile(r"(?<![0-9])0+(?=[0-9])")
_prefix = re.compile(r"[0-9]{1,8}\Z")


def is_mac(text: str) -> bool:
    if not _mac.match(text):
        return False
    return sum(char in "0123456789abcdefABCDEF" for char in text) // 2 in _MAC_OCTETS


def is_ipv4(text: str) -> bool:
    """Returns True for an IPv4 address, or one inside an IPv6 address; leading zeros are allowed for compatibility."""
    return "." in text and _parse_ip(text, sloppy=True) is not None


def is_ipv6(text: str) -> bool:
    return ":" in text and _parse_ip(text) is not None


def is_cidr(text: str) -> bool:
    address, slash, prefix = text.partition("/")
    found = _parse_ip(address, sloppy=True) if slash else None
    return found is not None and _prefix.match(prefix) is not None and int(prefix) <= (128 if ":" in address else 32)


def _parse_ip(text: str, sloppy: bool = False) -> object:
    if "%" in text or "/" in text or len(text) > 64 or not text.isascii():
        return None
    if sloppy and ":" not in text:
        text = _dotted.sub("", text)
    elif sloppy and "." in text:
        head, _, tail = text.rpartition(":")
        text = f"{head}:{_dotted.sub('', tail)}"
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


# --- URIs ---

_control = re.compile(r"[\x00-\x1f\x7f]")
_scheme = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
_userinfo = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*\Z")
_escapes = re.compile(r"(?:[^%]|%[0-9a-fA-F]{2})*\Z", re.DOTALL)
_port = re.compile(r"(?::[0-9]*)?\Z")
# In a host, only bytes beyond ASCII and the percent sign may be escaped.
_host = re.compile(r"""(?:[A-Za-z0-9\-_.~!$&'()*+,;=:\[\]<>"]|[^\x00-\x7f]|%(?:25|[89a-fA-F][0-9a-fA-F]))*\Z""")


def is_request_uri(text: str) -> bool:
    """Returns True for an absolute URI or an absolute path, as in a request."""
    if not text or _control.search(text):
        return False
    if text == "*":
        return True
    if text.startswith(":"):
        return False
    found = _scheme.match(text)
    scheme = found[1].lower() if found else ""
    rest = (text[found.end() :] if found else text).partition("?")[0]
    if not rest.startswith("/"):
        return bool(scheme)
    if scheme and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        if not _is_authority(scheme, authority):
            return False
    return _escapes.match(rest) is not None


def _is_authority(scheme: str, authority: str) -> bool:
    userinfo, _, host = authority.rpartition("@")
    if not _userinfo.match(userinfo) or not _escapes.match(userinfo):
        return False
    bracket = host.rfind("[")
    if bracket > 0:
        return False
    if bracket == 0:
        close = host.rfind("]")
        address, _, zone = host[1:close].partition("%25")
        if close < 0 or not _port.match(host[close + 1 :]) or not _escapes.match(zone):
            return False
        return ":" in address and _parse_ip(address) is not None
    if ":" in host:
        # Only http and https require exactly one colon; databases list several hosts.
        at = host.index(":") if scheme in ("http", "https") else host.rindex(":")
        if not _port.match(host[at:]):
            return False
    return _host.match(host) is not None


# --- mail ---

_ATEXT = r"""[^\x00-\x20\x7f()<>\[\]:;@\\,"]"""
_local = re.compile(rf'"(?P<quoted>(?:[^\x00-\x08\x0a-\x1f\x7f"\\]|\\[^\x00-\x08\x0a-\x1f\x7f])+)"|(?P<atom>{_ATEXT}+)')
_atom = re.compile(rf"{_ATEXT}+")
_quoted = re.compile(r'"(?:[^\x00-\x08\x0a-\x1f\x7f"\\]|\\[^\x00-\x08\x0a-\x1f\x7f])*"')
_literal = re.compile(r"\[([^\x00-\x20\x7f\[\]\\]*)\]")
_BLANK = " \t"


def is_email(text: str) -> bool:
    """Returns True for one mailbox of RFC 5322: `a@b`, or `Some Name <a@b>`, with comments where they are allowed."""
    rest = _after_mailbox(text, group=True)
    return rest is not None and _after_comments(rest) == ""


def _after_mailbox(text: str, group: bool) -> str | None:
    text = text.lstrip(_BLANK)
    rest = _after_address(text)
    return _after_named_address(text, group) if rest is None else rest


def _after_address(text: str) -> str | None:
    found = _local.match(text.lstrip(_BLANK))
    if found is None or (found["atom"] and not _is_dot_atom(found["atom"])):
        return None
    rest = text.lstrip(_BLANK)[found.end() :]
    if not rest.startswith("@"):
        return None
    rest = rest[1:].lstrip(_BLANK)
    if literal := _literal.match(rest):
        return rest[literal.end() :] if _parse_ip(literal[1]) is not None else None
    domain = _atom.match(rest)
    if domain is None or not _is_dot_atom(domain[0]):
        return None
    return rest[domain.end() :]


def _is_dot_atom(text: str) -> bool:
    return not text.startswith(".") and not text.endswith(".") and ".." not in text


def _after_named_address(text: str, group: bool) -> str | None:
    words = 0
    while text and not text.startswith("<"):
        if words:
            after = _after_comments(text)
            if after is None:
                return None
            text = after
        found = _quoted.match(text) or _atom.match(text)
        if found is None:
            break
        words += 1
        text = text[found.end() :].lstrip(_BLANK)
    if group and text.startswith(":"):
        member = _after_mailbox(text[1:], group=False)
        rest = None if member is None else _after_comments(member)
        return rest[1:] if rest is not None and rest.startswith(";") else None
    if not text.startswith("<"):
        return None
    rest = _after_address(text[1:])
    return rest[1:] if rest is not None and rest.startswith(">") else None


def _after_comments(text: str) -> str | None:
    text = text.lstrip(_BLANK)
    while text.startswith("("):
        depth, at = 0, 0
        while at < len(text):
            if text[at] == "\\":
                at += 1
            elif text[at] == "(":
                depth += 1
            elif text[at] == ")":
                depth -= 1
                if depth == 0:
                    break
            at += 1
        if depth:
            return None
        text = text[at + 1 :].lstrip(_BLANK)
    return text
