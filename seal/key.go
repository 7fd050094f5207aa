package seal

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
)

const secretSize = 32

// Key is a secret with a name. Printing or encoding it gives the name only.
type Key struct {
	// ID stands in each value that is sealed with the key: 1 to 64 of a-z, A-Z, 0-9, dot, dash
	// and underscore. It must never be given to another secret.
	ID string
	// Secret is 32 bytes from a good source of randomness; it is not a password.
	Secret []byte `json:"-"`
}

// Format prints the id, whatever the verb.
func (k Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "seal.Key("+k.ID+")") }

// LogValue logs the id.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.ID) }

var (
	errDoubleID = errors.New("has the id of another key; give each its own")
	errSecret   = errors.New("the secret is not 32 bytes; make one with: openssl rand -base64 32")
	errZero     = errors.New("the secret is nothing but zeros; make one with: openssl rand -base64 32")
)

func (k Key) check() error {
	switch {
	case len(k.Secret) != secretSize:
		return errors.Join(checkID(k.ID), errSecret)
	case !slices.ContainsFunc(k.Secret, func(b byte) bool { return b != 0 }):
		return errors.Join(checkID(k.ID), errZero)
	}
	return checkID(k.ID)
}

// checkID does not print what it refuses: it may be a secret in the wrong place.
func checkID(id string) error {
	bad := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			r == '.' || r == '-' || r == '_')
	}
	switch {
	case id == "":
		return errors.New("the id is empty")
	case len(id) > maxID:
		return fmt.Errorf("the id has %d bytes; at most %d", len(id), maxID)
	case strings.ContainsFunc(id, bad):
		return errors.New("the id has other characters than a-z, A-Z, 0-9, '.', '-' and '_'")
	}
	return nil
}

// ParseKeys reads keys, one on a line: the id, spaces or tabs, and the secret in base64. Empty
// lines and lines that begin with # are left out. The error names every line that cannot be read,
// and never shows what stands there.
func ParseKeys(r io.Reader) ([]Key, error) {
	var keys []Key
	var errs []error
	seen := map[string]int{}
	in, line := bufio.NewScanner(r), 0
	for in.Scan() {
		line++
		text := strings.TrimSpace(in.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		k, err := parseKey(text)
		if err == nil && seen[k.ID] != 0 {
			err = fmt.Errorf("has the id of line %d; give each key its own", seen[k.ID])
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("line %d: %w", line, err))
			continue
		}
		seen[k.ID] = line
		keys = append(keys, k)
	}
	if err := in.Err(); err != nil {
		errs = append(errs, fmt.Errorf("line %d: %w", line+1, err))
	}
	if len(keys) == 0 && len(errs) == 0 {
		errs = append(errs, errors.New("there is no key; add a line `id secret`"))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return keys, nil
}

func parseKey(text string) (Key, error) {
	fields := strings.Fields(text)
	if len(fields) != 2 {
		return Key{}, fmt.Errorf("has %d fields; write the id, a space and the secret", len(fields))
	}
	k := Key{ID: fields[0]}
	var err error
	if k.Secret, err = base64.StdEncoding.Strict().DecodeString(fields[1]); err != nil {
		return Key{}, errors.New("the secret is not base64; make one with: openssl rand -base64 32")
	}
	return k, k.check()
}

// ReadFile returns a Box with the keys of a file, see [ParseKeys]: the first seals, all open.
func ReadFile(path string) (*Box, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("keys file: %w", err)
	}
	defer f.Close()
	keys, err := ParseKeys(f)
	if err != nil {
		return nil, fmt.Errorf("keys file %s: %w", path, err)
	}
	return New(keys[0], keys[1:]...)
}
