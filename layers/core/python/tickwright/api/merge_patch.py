"""What a JSON merge patch (RFC 7396) makes of a document.

Must not know what the document means.
"""


def merged(document: object, patch: object) -> object:
    """The document after the patch: null takes a member away, objects are merged, anything else replaces.

    The depth of the patch is bounded where it is read (strict_json.DEPTH_MAX).
    """
    if not isinstance(patch, dict):
        return patch
    result = dict(document) if isinstance(document, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result
