"""What draws the charts of a page: Vega's libraries in one script, without the internet."""

from functools import cache

import vl_convert
from markupsafe import Markup


@cache
def library() -> Markup:
    """Return the script that defines `vegaEmbed`; as code of this program, it is trusted."""
    script: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return Markup(script.replace("</script", r"<\/script"))
