"""The conversion of a definition: None, or a webhook that is reached by URL or by service."""

import base64
import re
from urllib.parse import SplitResult, urlsplit

from setpoint.objects.field import FieldError, child, forbidden, index, invalid, not_supported, required
from setpoint.objects.gotext import quote
from setpoint.objects.names import dns1035_label, dns1123_subdomain
from setpoint.objects.pem import is_certificate, pem_blocks
from setpoint.schema.crd.definition import Conversion, ServiceReference, WebhookClientConfig

REVIEW_VERSIONS = ("v1", "v1beta1")

_URL_FORM = "; desired format: https://host[/path]"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*\Z")


def validate_conversion(
    conversion: Conversion | None, path: str, *, any_review_version: bool, any_ca_bundle: bool
) -> list[FieldError]:
    """Returns the errors of a conversion. The flags `any_*` allow values that an older server accepted."""
    if conversion is None:
        return []
    errors: list[FieldError] = []
    strategy = child(path, "strategy")
    if not conversion.strategy:
        errors.append(required(strategy))
    elif conversion.strategy not in ("None", "Webhook"):
        errors.append(not_supported(strategy, conversion.strategy, ("None", "Webhook")))
    webhook = conversion.webhook
    config = webhook.client_config if webhook else None
    reviews = webhook.conversion_review_versions if webhook else []
    config_path, reviews_path = child(path, "webhookClientConfig"), child(path, "conversionReviewVersions")
    if conversion.strategy == "Webhook":
        if config is None:
            errors.append(required(config_path, "required when strategy is set to Webhook"))
        else:
            errors += validate_client_config(config, config_path, any_ca_bundle)
        errors += _validate_review_versions(reviews, reviews_path, any_review_version)
    else:
        unwanted = "should not be set when strategy is not set to Webhook"
        if config is not None:
            errors.append(forbidden(config_path, unwanted))
        if reviews:
            errors.append(forbidden(reviews_path, unwanted))
    return errors


def _validate_review_versions(versions: list[str], path: str, any_version: bool) -> list[FieldError]:
    if not versions:
        return [required(path)]
    errors: list[FieldError] = []
    for position, version in enumerate(versions):
        if version in versions[:position]:
            errors.append(invalid(index(path, position), version, "duplicate version"))
        else:
            errors += [invalid(index(path, position), version, problem) for problem in dns1035_label(version)]
    if not any_version and not set(versions) & set(REVIEW_VERSIONS):
        errors.append(invalid(path, versions, f"must include at least one of {', '.join(REVIEW_VERSIONS)}"))
    return errors


def validate_client_config(config: WebhookClientConfig, path: str, any_ca_bundle: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    if config.url is not None and config.service is None:
        errors += _validate_url(config.url, child(path, "url"))
    elif config.service is not None and config.url is None:
        errors += _validate_service(config.service, child(path, "service"))
    else:
        errors.append(required(path, "exactly one of url or service is required"))
    if config.ca_bundle and not any_ca_bundle and (problem := ca_bundle_problem(config.ca_bundle)):
        errors.append(invalid(child(path, "caBundle"), config.ca_bundle, problem))
    return errors


def ca_bundle_of(conversion: Conversion | None) -> str:
    """Returns the CA bundle of a conversion webhook; empty if there is none."""
    config = conversion.webhook.client_config if conversion and conversion.webhook else None
    return config.ca_bundle if config else ""


def ca_bundle_problem(bundle: str) -> str | None:
    """Returns the fault of a base64 bundle of PEM certificates, or None.

    A certificate is a DER sequence, which starts with a fixed byte; the TLS library validates the contents.
    """
    try:
        text = base64.b64decode(bundle, validate=True).decode("ascii", "replace")
        bodies = ("".join(block.body.split()) for block in pem_blocks(text, is_certificate))
        certificates = [base64.b64decode(body, validate=True) for body in bodies]
    except ValueError:
        certificates = []
    if not certificates:
        return "unable to load root certificates: unable to parse bytes as PEM block"
    if any(certificate[:1] != b"\x30" for certificate in certificates):
        return "unable to load root certificates: failed to parse certificate: x509: malformed certificate"
    return None


def _validate_url(url: str, path: str) -> list[FieldError]:
    parts = _split(url)
    if isinstance(parts, str):
        return [required(path, f"url must be a valid URL: parse {quote(url)}: {parts}{_URL_FORM}")]
    user, at, host = parts.netloc.rpartition("@")
    errors: list[FieldError] = []
    if parts.scheme != "https":
        errors.append(invalid(path, parts.scheme, f"'https' is the only allowed URL scheme{_URL_FORM}"))
    if not host:
        errors.append(invalid(path, host, f"host must be specified{_URL_FORM}"))
    if at:
        errors.append(invalid(path, user, "user information is not permitted in the URL"))
    if parts.fragment:
        errors.append(invalid(path, parts.fragment, "fragments are not permitted in the URL"))
    if parts.query:
        errors.append(invalid(path, parts.query, "query parameters are not permitted in the URL"))
    return errors


def _split(url: str) -> SplitResult | str:
    """Returns the parts of a URL, or its fault."""
    if any(ord(char) < 0x20 or ord(char) == 0x7F for char in url):
        return "net/url: invalid control character in URL"
    scheme, colon, _ = url.partition(":")
    if colon and not scheme:
        return "missing protocol scheme"
    if colon and "/" not in scheme and not _SCHEME.match(scheme):
        return "first path segment in URL cannot contain colon"
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        return str(error)
    if bad := next((char for char in parts.netloc if char in ' <>"\\^`{|}'), None):
        return f"invalid character {quote(bad)} in host name"
    if bad_escape := re.search(r"%(?![0-9a-fA-F]{2}).{0,2}", parts.path):
        return f"invalid URL escape {quote(bad_escape.group())}"
    return parts


def _validate_service(service: ServiceReference, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    # The real server swaps the two fields in its errors; if both are missing, as usual, there is no difference.
    if not service.namespace:
        errors.append(required(child(path, "name")))
    if not service.name:
        errors.append(required(child(path, "namespace")))
    port = 0 if service.port is None else service.port
    if not 1 <= port <= 65535:
        errors.append(invalid(child(path, "port"), port, "port is not valid: must be between 1 and 65535, inclusive"))
    if service.path:
        errors += _validate_service_path(service.path, child(path, "path"))
    return errors


def _validate_service_path(value: str, path: str) -> list[FieldError]:
    if value == "/":
        return []
    if value == "//":
        return [invalid(path, value, "segment[0] may not be empty")]
    errors = [] if value.startswith("/") else [invalid(path, value, "must start with a '/'")]
    for position, segment in enumerate(value[1:].removesuffix("/").split("/")):
        if not segment:
            errors.append(invalid(path, value, f"segment[{position}] may not be empty"))
        else:
            problems = dns1123_subdomain(segment)
            errors += [invalid(path, value, f"segment[{position}]: {problem}") for problem in problems]
    return errors
