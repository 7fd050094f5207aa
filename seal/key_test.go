package seal

import (
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var secretText = base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789ABCDEF"))

func TestParseKeys(t *testing.T) {
	other := base64.StdEncoding.EncodeToString([]byte("fedcba98765432100123456789ABCDEF"))
	keys, err := ParseKeys(strings.NewReader("# keys\r\n\n  new " + secretText + "\r\n" +
		"2026-05_a.b\t\t" + other))
	if err != nil || len(keys) != 2 || keys[0].ID != "new" || keys[1].ID != "2026-05_a.b" ||
		string(keys[0].Secret) != "0123456789abcdef0123456789ABCDEF" ||
		string(keys[1].Secret) != "fedcba98765432100123456789ABCDEF" {
		t.Errorf("%v, %v", keys, err)
	}
}

// TestParseKeysErrors: each line is named with what is wrong, and none is shown.
func TestParseKeysErrors(t *testing.T) {
	zero := base64.StdEncoding.EncodeToString(make([]byte, 32))
	for text, want := range map[string]string{
		"":                                   "there is no key; add a line `id secret`",
		"# nothing\n":                        "there is no key; add a line `id secret`",
		secretText:                           "line 1: has 1 fields; write the id, a space",
		"# a\nk " + secretText + " x":        "line 2: has 3 fields",
		secretText + " k":                    "line 1: the secret is not base64; make one with: ",
		secretText + " " + secretText:        "line 1: the id has other characters than",
		"k " + secretText[:40]:               "line 1: the secret is not 32 bytes; make",
		"k " + zero:                          "line 1: the secret is nothing but zeros",
		"k 0123456789abcdef0123456789ABCDE!": "line 1: the secret is not base64",
		"k\u00fc " + secretText:              "line 1: the id has other characters than",
		strings.Repeat("k", 65) + " " + secretText:             "line 1: the id has 65 bytes; at most 64",
		"k " + secretText + "\n\nk " + secretText:              "line 3: has the id of line 1; give",
		"k " + secretText + "\nj\n" + secretText:               "line 2: has 1 fields",
		"k\nj " + secretText[:40] + "\n":                       "line 2: the secret is not 32 bytes",
		"k " + secretText + "\n" + strings.Repeat("x", 70_000): "line 2: bufio.Scanner: token too long",
	} {
		_, err := ParseKeys(strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		} else if strings.Contains(err.Error(), secretText[:8]) ||
			strings.Contains(err.Error(), "01234567") {
			t.Errorf("%.60q: the error shows the secret: %v", text, err)
		}
	}
}

// TestNewErrors: every key that cannot be used is named.
func TestNewErrors(t *testing.T) {
	_, err := New(Key{ID: "a b", Secret: make([]byte, 31)}, key("k", 1), key("k", 2),
		Key{ID: "z", Secret: make([]byte, 32)}, Key{})
	for _, want := range []string{"seal.New: ", "key 0: the id has other characters",
		"the secret is not 32 bytes", "key 2: has the id of another key",
		"key 3: the secret is nothing but zeros", "key 4: the id is empty"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	if _, err := ReadFile(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("new " + secretText + "\nold " + secretText[:40])
	if _, err := ReadFile(path); err == nil ||
		!strings.Contains(err.Error(), "keys file "+path+": line 2: the secret") {
		t.Errorf("a wrong line: %v", err)
	}
	write("new " + secretText + "\nold " + "a" + secretText[1:])
	b, err := ReadFile(path)
	if err != nil || strings.Join(b.KeyIDs(), " ") != "new old" {
		t.Errorf("%v, %v", b, err)
	}
}

// TestSecretIsCopied: the caller may wipe its copy.
func TestSecretIsCopied(t *testing.T) {
	k := key("k", 1)
	b := box(t, k)
	sealed := b.Seal(Payload("a"), []byte("x"))
	clear(k.Secret)
	if got, err := b.Open(Payload("a"), sealed); err != nil || string(got) != "x" {
		t.Errorf("%q, %v", got, err)
	}
	if got := b.SealSame(Payload("a"), "j", []byte("x")); string(got) != string(box(t,
		key("k", 1)).SealSame(Payload("a"), "j", []byte("x"))) {
		t.Error("the nonce changed")
	}
}
