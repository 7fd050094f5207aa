package seal_test

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ax-sched/ax/seal"
)

const keys = `
# the newest first
2026-11 a6oO7PV0b8ryfOaAo0NnXEd6fXuUcbNAzLBYw5mfkXo=
2026-05 nXJH0f5UO4cz2qTRwLJGxkqU4nAmaFMNEJsB9rq2x1s=
`

// Values name their key, so old ones open as long as the old key is there.
func Example() {
	ks, err := seal.ParseKeys(strings.NewReader(keys))
	if err != nil {
		fmt.Println(err)
		return
	}
	before, _ := seal.New(ks[1])
	now, _ := seal.New(ks[0], ks[1:]...)

	old := before.Seal(seal.Payload("charge"), []byte(`{"card":4111}`))
	for _, value := range [][]byte{old, now.Seal(seal.Payload("charge"), []byte(`{"card":4222}`))} {
		id, _ := seal.KeyID(value)
		plain, err := now.Open(seal.Payload("charge"), value)
		fmt.Println(id, string(plain), err)
	}

	later, _ := seal.New(ks[0])
	_, err = later.Open(seal.Payload("charge"), old)
	var missing *seal.KeyError
	fmt.Println(errors.As(err, &missing), err)
	// Output:
	// 2026-05 {"card":4111} <nil>
	// 2026-11 {"card":4222} <nil>
	// true sealed with key "2026-05", which this process does not have
}
