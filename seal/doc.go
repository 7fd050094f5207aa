// Package seal encrypts what a scheduler stores: payloads and results are sealed in the process,
// and the database and its backups hold nothing that can be read without a key.
//
//	box, err := seal.ReadFile("/run/secrets/ax-keys")
//	a, err := ax.New(st, ax.Config{Seal: box})
//
// # Keys
//
// A key has an id and 32 secret bytes. A file of keys has one on a line, the id and the secret in
// base64; the first seals, all open. "openssl rand -base64 32" makes a secret.
//
//	# the newest first
//	2026-11 a6oO7PV0b8ryfOaAo0NnXEd6fXuUcbNAzLBYw5mfkXo=
//	2026-05 nXJH0f5UO4cz2qTRwLJGxkqU4nAmaFMNEJsB9rq2x1s=
//
// To rotate: put the new key behind the first everywhere, so that every process can open what
// another one seals; when all have it make it the first; take the old one out when no row names it
// any more. Nothing is sealed anew except the payload of a job that is put again.
//
// # Form
//
// A sealed value is "\xffaxseal1 ", the key id, a line feed, a nonce of 24 bytes, and what
// XAES-256-GCM makes of the plaintext: AES-256-GCM under a key that is derived for each nonce, so
// that a key may seal as many values as anybody will ever have. No text of any encoding that JSON
// may have begins with these bytes. The additional data is everything before the nonce, one byte
// for what the value is (P or R), and the kind. The key of XAES-256-GCM is HKDF-SHA256 of the
// secret with the info "ax seal 1: values" and no salt.
//
// # What it does not do
//
// The length of a value can be seen, and so can which values are empty: those are left as they are.
// Who can write to the database can put a sealed payload in the place of another of the same kind,
// or delete it.
package seal
