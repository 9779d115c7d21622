"""kubernetes_models.py MODELS MANIFEST.json...: prints what of the manifests Kubernetes' API does not have.

MODELS are those of Kubernetes' JavaScript client, which are generated of the published OpenAPI description: each
lists its fields with their types, V1JobSpec.js, and says which must be there, V1JobSpec.d.ts. Fields that are not
listed are mistakes, as kubectl --validate=strict has it.
"""
import json
import os
import re
import sys

SCALARS = {"string": str, "boolean": bool, "number": (int, float), "IntOrString": (int, str), "Date": str}
models = {}


def read_model(name):
    """The fields of a model: name to type and format; and those that must be there."""
    if name not in models:
        path = os.path.join(sys.argv[1], name)
        code = open(path + ".js").read()
        fields = re.search(r"attributeTypeMap = (\[.*?\n\]);", code, re.S).group(1)
        types = open(path + ".d.ts").read()
        models[name] = ({field["baseName"]: field for field in json.loads(fields)},
                        re.findall(r"^    '(\w+)': ", types, re.M))
    return models[name]


def check_scalar(kind, form, value, where):
    if kind not in SCALARS:
        raise SystemExit("what is %s at %s?" % (kind, where))
    if not isinstance(value, SCALARS[kind]) or (isinstance(value, bool) and kind != "boolean"):
        yield "%s: expected a %s, found %s" % (where, kind, json.dumps(value))
    elif form in ("int32", "int64") and (value != int(value) or abs(value) >= 1 << (31 if form == "int32" else 63)):
        yield "%s: expected an %s, found %s" % (where, form, value)


def check(kind, form, value, where):
    array = re.fullmatch(r"Array<(.*)>", kind)
    table = re.fullmatch(r"\{ \[key: string\]: (.*); \}", kind)
    if array and isinstance(value, list):
        for index, item in enumerate(value):
            yield from check(array.group(1), form, item, "%s/%d" % (where, index))
    elif table and isinstance(value, dict):
        for key, item in value.items():
            yield from check(table.group(1), form, item, where + "/" + key)
    elif array or table:
        yield "%s: expected %s, found %s" % (where, kind, json.dumps(value))
    elif not kind.startswith(("V1", "Core")):
        yield from check_scalar(kind, form, value, where)
    elif not isinstance(value, dict):
        yield "%s: expected an object, found %s" % (where, json.dumps(value))
    else:
        fields, required = read_model(kind)
        for key in required:
            if key not in value:
                yield "%s: %s is missing" % (where, key)
        for key, item in value.items():
            if key in fields:
                yield from check(fields[key]["type"], fields[key]["format"], item, where + "/" + key)
            else:
                yield "%s: there is no field %s" % (where, key)


for path in sys.argv[2:]:
    manifest = json.load(open(path))
    for number, item in enumerate(manifest["items"]):
        where = "%s: items/%d" % (path, number)
        if (item.get("apiVersion"), item.get("kind")) != ("batch/v1", "Job"):
            print("%s: expected a Job of batch/v1" % where)
        for mistake in check("V1Job", "", item, where):
            print(mistake)
