package seal_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/federates/authority/seal"
)

// The keys of RFC 7518, Appendix C.
const (
	alice = `{"kty":"EC","crv":"P-256","x":"gI0GAILBdu7T53akrFmMyGcsF3n5dO7MmwNBHKW5SV0","y":"SLW_xSffzlPWrHEVI30DHM_4egVwt3NQqeUD7nMFpps"}`
	bob   = `{"kty":"EC","crv":"P-256","x":"weNJy2HscCSM6AEDTDg04biOvhFhyyWvOHQfeF_PxMQ","y":"e8lnCO-AlStT-NJVX-crhB7QRYhiix03illJOVAOyck",
		"d":"VEmDZpDXXK8p8N0Cndsxs924q6nS1RXFASRl6BfUqdw"}`
)

// box encrypts with a key of 16 bytes, in base64url, and the older form of message around it: with Alice's own key as ephemeral key.
func box(t *testing.T, key, plain string) []byte {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(key)
	require.NoError(t, err)
	block, err := aes.NewCipher(raw)
	require.NoError(t, err)
	gcm, err := cipher.NewGCM(block)
	require.NoError(t, err)
	text := base64.RawURLEncoding.EncodeToString
	header := text([]byte(`{"alg":"ECDH-ES","enc":"A128GCM","apu":"QWxpY2U","apv":"Qm9i","epk":` + alice + `}`))
	iv := make([]byte, gcm.NonceSize())
	sealed := gcm.Seal(nil, iv, []byte(plain), []byte(header))
	tag := len(sealed) - gcm.Overhead()
	return []byte(header + ".." + text(iv) + "." + text(sealed[:tag]) + "." + text(sealed[tag:]))
}

// The older form opens with the derived key of RFC 7518, Appendix C, and no other; and only as Alice's.
func TestTheVectorOfRFC7518(t *testing.T) {
	l := seal.Link{Sender: "alice", Recipient: "bob"}
	to, err := seal.ParsePrivateKey([]byte(bob))
	require.NoError(t, err)
	from, err := seal.ParsePublicKey([]byte(alice))
	require.NoError(t, err)
	text := box(t, "VqqN6vgjbSBcIijNcacQGg", "hello")
	got, err := seal.OpenBox(l, 1, text, to, from)
	require.NoError(t, err)
	require.Equal(t, "hello", string(got))

	_, err = seal.OpenBox(l, 1, box(t, "WqqN6vgjbSBcIijNcacQGg", "hello"), to, from)
	require.ErrorIs(t, err, seal.Undecipherable)
	_, err = seal.OpenBox(l, 1, text, to, to.PublicKey)
	require.ErrorIs(t, err, seal.WrongSender)
	text[len(text)-5] ^= 1
	_, err = seal.OpenBox(l, 1, text, to, from)
	require.ErrorIs(t, err, seal.Undecipherable)
	_, err = seal.OpenBox(l, 1, bytes.Repeat([]byte("A"), 2<<20), to, from)
	require.ErrorIs(t, err, seal.TooLarge)
	from.Until = 1
	_, err = seal.OpenBox(l, 1, text, to, from)
	require.ErrorIs(t, err, seal.Expired)
}

// A tool is José, the program of Debian's package jose, in a folder of its own.
type tool struct {
	*testing.T
	dir string
}

func newTool(t *testing.T) tool {
	if _, err := exec.LookPath("jose"); err != nil {
		t.Skip("SKIPPED LOUDLY: there is no jose (apt-get install jose), so nobody else opens and seals messages")
	}
	return tool{t, t.TempDir()}
}

func (j tool) file(name string, content any) string {
	j.Helper()
	text, ok := content.(string)
	if !ok {
		b, err := json.Marshal(content)
		require.NoError(j, err)
		text = string(b)
	}
	path := filepath.Join(j.dir, name)
	require.NoError(j, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func (j tool) run(args ...string) (string, error) {
	out, err := exec.CommandContext(j.Context(), "jose", args...).Output()
	return string(out), err
}

// José verifies and decrypts what is sealed here, with the right keys alone.
func TestJoseOpensWhatIsSealed(t *testing.T) {
	j := newTool(t)
	a, b, c := newParty(t, "sim-a"), newParty(t, "sim-b"), newParty(t, "sim-c")
	message := j.file("message", sealAll(t, ab, a, b, "state of the ball")[0])
	inner, err := j.run("jws", "ver", "-i", message, "-k", j.file("a.jwk", a.signs.PublicKey), "-O", "-")
	require.NoError(t, err)
	plain, err := j.run("jwe", "dec", "-i", j.file("inner", inner), "-k", j.file("b.jwk", b.opens))
	require.NoError(t, err)
	require.Equal(t, "state of the ball", plain)
	_, err = j.run("jws", "ver", "-i", message, "-k", j.file("c.jwk", c.signs.PublicKey))
	require.Error(t, err)
	_, err = j.run("jwe", "dec", "-i", j.file("inner", inner), "-k", j.file("c2.jwk", c.opens))
	require.Error(t, err)
}

// What José encrypts and signs, with keys that it has made, opens here.
func TestJoseSealsWhatIsOpened(t *testing.T) {
	j := newTool(t)
	key := func(name string) seal.PrivateKey {
		text, err := j.run("jwk", "gen", "-i", `{"kty":"EC","crv":"P-256"}`)
		require.NoError(t, err)
		j.file(name, text)
		k, err := seal.ParsePrivateKey([]byte(text))
		require.NoError(t, err)
		k.Owner = name
		return k
	}
	a, b := key("sim-a"), key("sim-b")
	header := fmt.Sprintf(`{"protected":{"alg":"ECDH-ES","enc":"A128GCM","kid":%q,"bound":{"in":"run-1","from":"sim-a","to":"sim-b","ch":"transfer","seq":"18446744073709551615","at":"7.2"}}}`, b.ID)
	inner, err := j.run("jwe", "enc", "-I", j.file("plain", "state of the ball"), "-i", header, "-k", j.file("b.pub", b.PublicKey), "-c")
	require.NoError(t, err)
	text, err := j.run("jws", "sig", "-I", j.file("inner", inner), "-s", fmt.Sprintf(`{"protected":{"alg":"ES256","kid":%q}}`, a.ID), "-k", filepath.Join(j.dir, "sim-a"), "-c")
	require.NoError(t, err)
	m, err := seal.NewOpener(ab, b, book{a.ID: a.PublicKey}.lookup, seal.Limits{}).Open(7, []byte(text))
	require.NoError(t, err)
	require.Equal(t, seal.Message{Sequence: 1<<64 - 1, At: at(7, 2), Payload: []byte("state of the ball")}, m)
}
