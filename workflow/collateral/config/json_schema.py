"""The JSON schema of the config for editors: names, parameters, bounds and descriptions.

It follows draft 7, the newest that the YAML language server supports well. It contains neither
plug-ins nor checks across keys; `config/load.py` has both.
"""

from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from collateral.config.schema import Config
from collateral.plugins.find import CONTROL, DATA, FORGET, METHOD, MODEL, params_class

SCHEMA_FILE = Path(__file__).with_name("schema.json")
DIALECT = "http://json-schema.org/draft-07/schema#"
Schema = dict[str, Any]
# Schema of a method entry that is empty in the config, such as `ssd:`.
EMPTY = {"type": "null", "description": "All defaults."}


class Untitled(GenerateJsonSchema):
    """Schema generator that omits titles, because they only repeat the keys."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Return False, so that no field gets a title."""
        return False


def json_schema() -> Schema:
    """Return the schema of the config with the options of data sets, forget sets and methods."""
    schema = Config.model_json_schema(schema_generator=Untitled)
    parts = schema["$defs"]
    parts |= {f"method-{name}": _method(name) for name in METHOD.names()}
    benchmark = parts["BenchmarkConfig"]["properties"]
    data_sets = [_data_set(name) for name in DATA.names()]
    for one in data_sets:
        parts |= one.pop("$defs", {})  # blocks of options, such as `patched`
    benchmark["data"]["anyOf"] = data_sets
    families = [{"pattern": f"^{prefix}"} for prefix in MODEL.families]
    benchmark["model"]["anyOf"] = [{"enum": MODEL.names()}, *families]
    benchmark["controls"]["items"]["enum"] = [
        n for n in CONTROL.names() if not params_class(n).made_by
    ]
    benchmark["methods"] |= {
        "properties": {name: {"anyOf": [_part(name), EMPTY]} for name in METHOD.names()},
        "additionalProperties": _other_name(),
    }
    listed = {"enum": list(parts["Probes"]["properties"])}
    benchmark["probe"]["anyOf"].insert(0, {"type": "array", "items": listed})
    cell = parts["CellConfig"]["properties"]
    parts["ForgetSet"] = {"anyOf": [_forget_set(name) for name in FORGET.names()]}
    for one in (cell, parts["RoundConfig"]["properties"]):
        one["forget"]["allOf"] = [{"$ref": "#/$defs/ForgetSet"}]
    parts["CellConfig"]["oneOf"] = [{"required": ["forget"]}, {"required": ["rounds"]}]
    cell["methods"]["properties"] = {name: _part(name) for name in METHOD.names()}
    return {"$schema": DIALECT, **schema}


def _data_set(name: str) -> Schema:
    module = DATA.load(name)
    summary = str(module.__doc__).splitlines()[0]
    schema = module.Options.model_json_schema(schema_generator=Untitled)
    return _add_selector("name", name, schema) | {"description": summary}


def _forget_set(name: str) -> Schema:
    return _add_selector("kind", name, _flat(FORGET.load(name).Params))


def _add_selector(key: str, name: str, schema: Schema) -> Schema:
    """Return the schema including the key `name` or `kind` that selects it."""
    schema = schema | {"title": name}
    schema["properties"] = {key: {"const": name}, **schema["properties"]}
    schema["required"] = [key, *schema.get("required", [])]
    return schema


def _method(name: str) -> Schema:
    """Return the schema of a method: each parameter is a value or a list to tune over."""
    params = params_class(name)
    schema = _flat(params) | {"title": params.label}
    uses = {"const": name, "description": "The method that this is a configuration of."}
    parameters = {key: _or_list(value) for key, value in schema["properties"].items()}
    schema["properties"] = {"uses": uses, **parameters}
    return schema


def _or_list(value: Schema) -> Schema:
    outer = {key: value[key] for key in ("default", "description") if key in value}
    inner = {key: value[key] for key in value if key not in outer}
    return outer | {"anyOf": [inner, {"type": "array", "items": inner, "minItems": 1}]}


def _other_name() -> Schema:
    """Return the schema of an entry under a name that the user chose; `uses` names its method."""
    known = [{"allOf": [_part(name)], "required": ["uses"]} for name in METHOD.names()]
    is_plug_in = {"type": "string", "not": {"enum": METHOD.names()}}
    plug_in = {"type": "object", "properties": {"uses": is_plug_in}, "required": ["uses"]}
    return {"anyOf": [*known, plug_in]}


def _part(method: str) -> Schema:
    return {"$ref": f"#/$defs/method-{method}"}


def _flat(model: type[BaseModel]) -> Schema:
    schema = model.model_json_schema(schema_generator=Untitled)
    assert "$defs" not in schema, f"{model.__module__}: options and parameters are flat"
    return schema
