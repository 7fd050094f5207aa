package seal

import (
	"bytes"
	"crypto/aes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
)

// key makes a key whose secret is a byte repeated.
func key(id string, b byte) Key { return Key{ID: id, Secret: bytes.Repeat([]byte{b}, 32)} }

func box(t testing.TB, primary Key, older ...Key) *Box {
	t.Helper()
	b, err := New(primary, older...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestXAES compares with the vectors of c2sp.org/XAES-256-GCM.
func TestXAES(t *testing.T) {
	for _, v := range []struct {
		key            byte
		additional     string
		ciphertextHex  string
		nonce, message string
	}{
		{1, "", "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271",
			"ABCDEFGHIJKLMNOPQRSTUVWX", "XAES-256-GCM"},
		{3, "c2sp.org/XAES-256-GCM", "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d",
			"ABCDEFGHIJKLMNOPQRSTUVWX", "XAES-256-GCM"},
	} {
		block, err := aes.NewCipher(bytes.Repeat([]byte{v.key}, 32))
		if err != nil {
			t.Fatal(err)
		}
		c := &cipherKey{values: block, mask: maskOf(block)}
		nonce := [nonceSize]byte([]byte(v.nonce))
		got := c.aead(&nonce).Seal(nil, nonce[12:], []byte(v.message), []byte(v.additional))
		if hex.EncodeToString(got) != v.ciphertextHex {
			t.Errorf("key %d: %x, want %s", v.key, got, v.ciphertextHex)
		}
	}
}

func TestSealAndOpen(t *testing.T) {
	b := box(t, key("new", 1), key("old", 2))
	for _, plain := range [][]byte{[]byte(`{"order":1007}`), {0}, []byte(magic),
		bytes.Repeat([]byte{0xff}, 256<<10)} {
		sealed := b.Seal(Payload("charge"), plain)
		if !Sealed(sealed) || len(sealed) > len(plain)+MaxOverhead {
			t.Errorf("%.20q: %d bytes became %d", plain, len(plain), len(sealed))
		}
		if len(plain) > 3 && bytes.Contains(sealed[idStart:], plain) {
			t.Errorf("%.20q can be read", plain)
		}
		if id, ok := KeyID(sealed); id != "new" || !ok {
			t.Errorf("key id %q, %t", id, ok)
		}
		got, err := b.Open(Payload("charge"), sealed)
		if err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%.20q: opened %.20q, %v", plain, got, err)
		}
		if bytes.Equal(b.Seal(Payload("charge"), plain), sealed) {
			t.Error("a nonce came twice")
		}
	}
}

// TestLongestID: MaxOverhead is reached and not passed.
func TestLongestID(t *testing.T) {
	k := key(strings.Repeat("k", maxID), 1)
	sealed := box(t, k).Seal(Payload("a"), []byte("x"))
	if id, ok := KeyID(sealed); id != k.ID || !ok || len(sealed) != 1+MaxOverhead {
		t.Errorf("%d bytes, key id %q", len(sealed), id)
	}
}

// TestBound: what was sealed for one use and kind opens for no other.
func TestBound(t *testing.T) {
	b := box(t, key("k", 1))
	for _, sealed := range [][]byte{b.Seal(Payload("charge"), []byte("x")),
		b.SealSame(Payload("charge"), "nightly", []byte("x"))} {
		for _, to := range []Binding{Payload("refund"), Payload(""), Payload("charg"),
			Result("charge")} {
			if _, err := b.Open(to, sealed); !errors.Is(err, ErrDamaged) {
				t.Errorf("opened as %c %q: %v", to.use, to.kind, err)
			}
		}
	}
	// The id is bound too: a value cannot be passed off as that of another key with this secret.
	other := box(t, key("j", 1))
	sealed := bytes.Replace(b.Seal(Payload("a"), []byte("x")), []byte(" k\n"), []byte(" j\n"), 1)
	if _, err := other.Open(Payload("a"), sealed); !errors.Is(err, ErrDamaged) {
		t.Errorf("opened with another id: %v", err)
	}
}

// TestDamage: every flipped bit and every cut is found, and nothing panics.
func TestDamage(t *testing.T) {
	b := box(t, key("k", 1))
	sealed := b.Seal(Payload("a"), []byte("hello"))
	for i := range sealed {
		for bit := range 8 {
			bad := bytes.Clone(sealed)
			bad[i] ^= 1 << bit
			got, err := b.Open(Payload("a"), bad)
			switch missing := (*KeyError)(nil); {
			case i < len(magic):
				if err != nil || !bytes.Equal(got, bad) {
					t.Errorf("byte %d: not sealed any more, yet %v", i, err)
				}
			case i == len(magic):
				if !errors.Is(err, errNewer) {
					t.Errorf("another version: %v", err)
				}
			case errors.As(err, &missing) && i == idStart: // another id
			case !errors.Is(err, ErrDamaged):
				t.Errorf("byte %d, bit %d: %q, %v", i, bit, got, err)
			}
		}
	}
	for n := len(magic); n < len(sealed); n++ {
		if _, err := b.Open(Payload("a"), sealed[:n]); !errors.Is(err, ErrDamaged) {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
	}
}

// TestSame: the bytes change with everything that goes in, and with nothing else.
func TestSame(t *testing.T) {
	b := box(t, key("k", 1))
	want := b.SealSame(Payload("a"), "job", []byte("x"))
	if got := box(t, key("k", 1), key("j", 2)).SealSame(Payload("a"), "job",
		[]byte("x")); !bytes.Equal(got, want) {
		t.Error("another process made other bytes of the same")
	}
	nonces := map[string]string{string(want[idStart+2:][:nonceSize]): "the first"}
	for what, other := range map[string][]byte{
		"name":   b.SealSame(Payload("a"), "job2", []byte("x")),
		"kind":   b.SealSame(Payload("b"), "job", []byte("x")),
		"use":    b.SealSame(Result("a"), "job", []byte("x")),
		"value":  b.SealSame(Payload("a"), "job", []byte("y")),
		"border": b.SealSame(Payload("ab"), "job", []byte("y")),
		"side":   b.SealSame(Payload("a"), "job", []byte("by")), // of the same border
		"id":     box(t, key("j", 1)).SealSame(Payload("a"), "job", []byte("x")),
		"secret": box(t, key("k", 2)).SealSame(Payload("a"), "job", []byte("x")),
		"random": b.Seal(Payload("a"), []byte("x")),
	} {
		nonce := string(other[idStart+2:][:nonceSize])
		if nonces[nonce] != "" {
			t.Errorf("another %s has the nonce of %s", what, nonces[nonce])
		}
		nonces[nonce] = "another " + what
	}
	if got, err := b.Open(Payload("a"), want); err != nil || string(got) != "x" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestForm freezes what is stored: values of today must open for ever.
func TestForm(t *testing.T) {
	const want = "ff61787365616c3120323032362d31310ac6acb172405ace29a1620f32ecf6286c26a0ed520195ab64" +
		"fff843c0d2178d305f86f530068b09131f7b19ec353953511d780b"
	b := box(t, key("2026-11", 1))
	got := hex.EncodeToString(b.SealSame(Payload("order.close"), "nightly", []byte("the payload")))
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestRotation(t *testing.T) {
	old, now, next := key("1", 1), key("2", 2), key("3", 3)
	rows := [][]byte{box(t, old).Seal(Payload("a"), []byte("x")),
		box(t, now, old).Seal(Payload("a"), []byte("x"))}
	b := box(t, next, now, old)
	for _, row := range rows {
		if got, err := b.Open(Payload("a"), row); err != nil || string(got) != "x" {
			t.Errorf("%q, %v", got, err)
		}
	}
	if id, _ := KeyID(b.Seal(Payload("a"), []byte("x"))); id != "3" {
		t.Errorf("sealed with %q", id)
	}
	_, err := box(t, next, now).Open(Payload("a"), rows[0])
	var missing *KeyError
	if !errors.As(err, &missing) || missing.ID != "1" {
		t.Errorf("without the key: %v", err)
	}
	if got := b.KeyIDs(); !slices.Equal(got, []string{"3", "1", "2"}) {
		t.Errorf("ids %q", got)
	}
}

// TestNotSealed: rows from before pass, unless the box is strict; empty values always do.
func TestNotSealed(t *testing.T) {
	b := box(t, key("k", 1))
	for _, plain := range []string{"", "{}", "\xffaxsea", "axseal1 k\n"} {
		got, err := b.Open(Payload("a"), []byte(plain))
		if err != nil || string(got) != plain || Sealed([]byte(plain)) {
			t.Errorf("%q became %q, %v", plain, got, err)
		}
		if _, err := b.Strict().Open(Payload("a"), []byte(plain)); (err == nil) != (plain == "") ||
			err != nil && !errors.Is(err, ErrNotSealed) {
			t.Errorf("strict, %q: %v", plain, err)
		}
	}
	sealed := b.Strict().Seal(Payload("a"), []byte("x"))
	if got, err := b.Strict().Open(Payload("a"), sealed); err != nil || string(got) != "x" {
		t.Errorf("strict: %q, %v", got, err)
	}
	if got := b.Seal(Payload("a"), nil); got != nil {
		t.Errorf("nil became %q", got)
	}
}

// TestNil: no box seals nothing, and does not pass off what is sealed as a value.
func TestNil(t *testing.T) {
	var none *Box
	plain := []byte("x")
	for _, got := range [][]byte{none.Seal(Payload("a"), plain),
		none.SealSame(Payload("a"), "job", plain)} {
		if string(got) != "x" || &got[0] == &plain[0] {
			t.Errorf("%q, or not a copy", got)
		}
	}
	if got, err := none.Strict().Open(Payload("a"), plain); err != nil || string(got) != "x" {
		t.Errorf("%q, %v", got, err)
	}
	var missing *KeyError
	if _, err := none.Open(Payload("a"), box(t, key("k", 1)).Seal(Payload("a"),
		plain)); !errors.As(err, &missing) || missing.ID != "k" {
		t.Errorf("%v", err)
	}
	sealed := box(t, key("k", 1)).Seal(Payload("a"), plain)
	if got := none.Reveal(Payload("a"), sealed); !bytes.Equal(got, sealed) {
		t.Errorf("revealed %q", got)
	}
	if got := box(t, key("k", 1)).Reveal(Payload("a"), sealed); string(got) != "x" {
		t.Errorf("revealed %q", got)
	}
	if none.KeyIDs() != nil {
		t.Error("it has keys")
	}
}

// TestNoSecretIsPrinted prints keys and boxes in all the ways there are.
func TestNoSecretIsPrinted(t *testing.T) {
	k := Key{ID: "k1", Secret: []byte("0123456789abcdef0123456789ABCDEF")}
	b := box(t, k)
	var log bytes.Buffer
	for _, h := range []slog.Handler{slog.NewTextHandler(&log, nil),
		slog.NewJSONHandler(&log, nil)} {
		slog.New(h).Info("start", "key", k, "box", b, "keys", []Key{k})
	}
	js, err := json.Marshal(map[string]any{"key": k, "box": b})
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	all.WriteString(log.String() + string(js))
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%b"} {
		all.WriteString(fmt.Sprintf(verb+verb+verb+verb, k, &k, b, *b))
		all.WriteString(fmt.Sprintf(verb, []any{k, b, struct{ K Key }{k}}))
	}
	for _, form := range []string{"0123456789abcdef", "MDEyMzQ1Njc4OWFi", "30313233343536",
		"48 49 50 51", "110000 110001", "0x30, 0x31"} {
		if strings.Contains(all.String(), form) {
			t.Errorf("the secret is printed as %s", form)
		}
	}
	if !strings.Contains(all.String(), "seal.Box(k1)") ||
		!strings.Contains(all.String(), "seal.Key(k1)") {
		t.Errorf("the id is not printed: %s", all.String())
	}
}

// TestConcurrent: one box serves many goroutines, under the race detector.
func TestConcurrent(t *testing.T) {
	b := box(t, key("k", 1))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			plain := bytes.Repeat([]byte{byte(i)}, 100)
			for range 50 {
				got, err := b.Open(Payload("a"), b.Seal(Payload("a"), plain))
				if err != nil || !bytes.Equal(got, plain) {
					t.Errorf("%v", err)
				}
			}
		})
	}
	wg.Wait()
}

// FuzzOpen: bytes from a database are never trusted.
func FuzzOpen(f *testing.F) {
	b := box(f, key("k", 1))
	f.Add(b.Seal(Payload("a"), []byte("x")))
	f.Add([]byte(magic + "1 k\n"))
	f.Add([]byte(magic + "2"))
	f.Fuzz(func(t *testing.T, value []byte) {
		got, err := b.Open(Payload("a"), value)
		if id, ok := KeyID(value); ok && !Sealed(value) || ok && checkID(id) != nil {
			t.Errorf("%q has key id %q", value, id)
		}
		if err == nil && !Sealed(value) && !bytes.Equal(got, value) {
			t.Errorf("%q became %q", value, got)
		}
	})
}
