package show

import "github.com/ax-sched/ax/seal"

// sealedWith is the id of the key of the first value that is sealed, or "".
func sealedWith(values ...[]byte) string {
	for _, b := range values {
		if id, ok := seal.KeyID(b); ok {
			return id
		}
		if seal.Sealed(b) {
			return "?" // its beginning is damaged
		}
	}
	return ""
}
