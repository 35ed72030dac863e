"""What draws the charts of a page: Vega's libraries in one script, without the internet."""

from functools import cache

import vl_convert

PLACE = '<script id="library"></script>'  # in the template; no name can write it, all are escaped


def with_library(page: str) -> str:
    """Return the page with the libraries in their place."""
    return page.replace(PLACE, f"<script>{_library()}</script>", 1)


@cache
def _library() -> str:
    """Return the script that defines `vegaEmbed`."""
    script: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return script.replace("</script", r"<\/script")
