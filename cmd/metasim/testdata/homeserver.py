"""A client of a homeserver that knows nothing of it but /openapi.json: it finds each operation by its id, and holds each answer against its schema."""
import json
import sys
import urllib.error
import urllib.request


class Homeserver:
    def __init__(self, url):
        self.url = url
        with urllib.request.urlopen(url + "/openapi.json") as r:
            self.doc = json.load(r)
        assert self.doc["openapi"].startswith("3.1."), self.doc["openapi"]
        self.operations = {}
        for path, methods in self.doc["paths"].items():
            for method, operation in methods.items():
                self.operations[operation["operationId"]] = (method.upper(), path, operation)

    def resolve(self, part):
        while "$ref" in part:
            at = self.doc
            for name in part["$ref"].removeprefix("#/").split("/"):
                at = at[name]
            part = at
        return part

    def check(self, schema, value, where="body"):
        schema = self.resolve(schema)
        types = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}
        if "type" in schema:
            assert isinstance(value, types[schema["type"]]), (where, value)
        if "enum" in schema:
            assert value in schema["enum"], (where, value)
        if "maximum" in schema:
            assert schema["minimum"] <= value <= schema["maximum"], (where, value)
        if schema.get("type") == "array":
            for item in value:
                self.check(schema["items"], item, where + "[]")
        if "properties" in schema:
            assert set(schema["required"]) <= set(value), (where, value)
            assert set(value) <= set(schema["properties"]), (where, value)
            for name, item in value.items():
                self.check(schema["properties"][name], item, where + "." + name)

    def call(self, operation_id, token=None, body=None, headers=None, **names):
        method, path, operation = self.operations[operation_id]
        query = []
        for p in operation.get("parameters", []):
            if p["in"] == "path":
                path = path.replace("{%s}" % p["name"], str(names.pop(p["name"])))
            elif p["in"] == "query" and p["name"] in names:
                query.append("%s=%s" % (p["name"], names.pop(p["name"])))
        assert not names, names
        request = urllib.request.Request(self.url + path + "?" * bool(query) + "&".join(query), method=method, headers=headers or {})
        if token:
            request.add_header("Authorization", "Bearer " + token)
        if body is not None:
            self.check(operation["requestBody"]["content"]["application/json"]["schema"], body)
            request.add_header("Content-Type", "application/json")
            request.data = json.dumps(body).encode()
        try:
            answer = urllib.request.urlopen(request)
        except urllib.error.HTTPError as e:
            answer = e
        with answer:
            text = answer.read()
            documented = self.resolve(operation["responses"][str(answer.status)])
            kind = answer.headers.get("Content-Type", "").split(";")[0]
            if kind in ("text/plain", ""):
                return answer.status, text.decode(), answer.headers
            value = json.loads(text)
            self.check(documented["content"][kind]["schema"], value)
            return answer.status, value, answer.headers


def main(url, admin):
    home = Homeserver(url)
    tried = set()

    def call(status, operation, token=None, body=None, problem=None, headers=None, **names):
        tried.add(operation)
        got, value, header = home.call(operation, token, body, headers, **names)
        assert got == status, (operation, got, value)
        if problem:
            assert value["type"] == "urn:metasim:problem:" + problem, value
        return value, header

    call(200, "showHealth")
    call(200, "showDocument")
    call(200, "showMetrics")
    tokens = {name: call(201, "makeAccount", admin, {"name": name})[0]["token"] for name in ("sim-a", "sim-b", "boss", "gone")}
    names = [a["name"] for a in call(200, "listAccounts", admin)[0]["items"]]
    assert names == ["admin", "boss", "gone", "sim-a", "sim-b"], names
    assert call(200, "listAccounts", admin, limit=2, after="boss")[0]["next"] == "sim-a"
    call(200, "showAccount", tokens["sim-a"], name="sim-a")
    tokens["sim-a"] = call(200, "renewToken", tokens["sim-a"], name="sim-a")[0]["token"]
    call(204, "removeAccount", admin, name="gone")
    call(401, "listAccounts", tokens["gone"], problem="unauthenticated")

    jwk = {"kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}
    key = call(201, "publishKey", tokens["sim-a"], {"jwk": jwk})[0]
    assert call(200, "showKey", tokens["sim-b"], kid=key["kid"])[0]["account"] == "sim-a"
    assert len(call(200, "listKeys", tokens["sim-b"])[0]["items"]) == 1
    call(403, "removeKey", tokens["sim-b"], kid=key["kid"], problem="forbidden")
    call(204, "removeKey", tokens["sim-a"], kid=key["kid"])
    call(400, "publishKey", tokens["sim-a"], {"jwk": dict(jwk, d="jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI")}, problem="private-key")
    call(400, "publishKey", tokens["sim-a"], {"jwk": jwk, "issued": 1}, problem="clock-skew")

    call(201, "enterEntity", tokens["boss"], {"id": "ball", "owner": "sim-b"})
    assert call(200, "setOwnership", tokens["sim-a"], {"owner": "sim-a"}, id="ball")[0] == {"owner": "sim-a", "epoch": 1}
    signers, _ = call(200, "showSigners", tokens["sim-b"], id="ball")
    assert len(signers["keys"]) == 1, signers
    signer = call(200, "listSigners", tokens["sim-b"])[0]["items"][0]
    assert signer["homeserver"] == "home" and signer["jwk"] == signers["keys"][0], signer
    assert call(200, "showSigner", tokens["sim-b"], kid=signer["kid"])[0] == signer
    call(403, "removeSigner", tokens["sim-b"], kid=signer["kid"], problem="forbidden")
    call(409, "removeSigner", admin, kid=signer["kid"], problem="own-key")
    value, header = call(200, "showOwnership", tokens["sim-b"], id="ball")
    call(304, "showOwnership", tokens["sim-b"], id="ball", headers={"If-None-Match": header["ETag"]})
    call(200, "setRule", tokens["boss"], {"rule": "deny"}, id="ball")
    call(412, "setOwnership", tokens["sim-b"], {"owner": "sim-b"}, id="ball", headers={"If-Match": header["ETag"]}, problem="precondition-failed")
    call(403, "setOwnership", tokens["sim-b"], {"owner": "sim-b"}, id="ball", problem="denied")
    call(403, "setRule", tokens["sim-a"], {"rule": "allow"}, id="ball", problem="not-master")
    call(200, "setRule", tokens["boss"], {"rule": "ask"}, id="ball")
    assert call(200, "showRule", tokens["sim-a"], id="ball")[0] == {"rule": "ask"}
    asked, _ = call(202, "setOwnership", tokens["sim-b"], {"owner": "sim-b"}, id="ball")
    assert [r["status"] for r in call(200, "listRequests", tokens["boss"], id="ball")[0]["items"]] == ["pending"]
    call(200, "answerRequest", tokens["boss"], {"answer": "yes"}, id="ball", number=asked["request"])
    assert call(200, "showRequest", tokens["sim-b"], id="ball", number=asked["request"])[0]["status"] == "granted"
    assert call(200, "showEntity", tokens["sim-b"], id="ball")[0]["owner"] == "sim-b"
    call(409, "setOwnership", tokens["sim-b"], {"owner": "sim-a", "epoch": 1}, id="ball", problem="stale")
    call(200, "setMastership", tokens["boss"], {"master": "sim-a"}, id="ball")
    assert call(200, "showMastership", tokens["boss"], id="ball")[0] == {"master": "sim-a"}
    assert len(call(200, "listEntities", tokens["boss"])[0]["items"]) == 1
    call(200, "register", tokens["sim-b"], {"url": "quic://127.0.0.1:1", "jwk": jwk}, name="sim-b")
    assert call(200, "showServer", tokens["sim-a"], name="sim-b")[0]["kid"] == key["kid"]
    assert len(call(200, "listServers", tokens["sim-a"])[0]["items"]) == 1
    call(404, "showServer", tokens["sim-b"], name="sim-a", problem="unknown-server")
    message = {"kind": "request", "requester": "sim-a", "id": 1, "entity": "ball", "owner": "sim-a", "epoch": 0, "trail": ["sim-a"]}
    call(204, "takeMessage", tokens["sim-a"], message)
    call(400, "takeMessage", tokens["sim-b"], message, problem="forged-trail")
    letter = call(200, "readMail", tokens["sim-b"], wait=1)[0]["items"][0]
    assert letter["message"]["kind"] == "grant" and letter["message"]["trail"] == ["home"], letter
    call(204, "removeMail", tokens["sim-b"], number=letter["number"])
    assert call(200, "readMail", tokens["sim-b"])[0]["items"] == []
    call(204, "removeEntity", tokens["sim-a"], id="ball")
    call(404, "showEntity", tokens["sim-a"], id="ball", problem="unknown-entity")
    assert tried == set(home.operations), set(home.operations) - tried
    print("tried", len(tried), "operations")


main(*sys.argv[1:])
