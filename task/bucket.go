package task

import (
	"fmt"
	"strings"
)

// Bucket is a priority class. Buckets share free slots by weight; none starves.
type Bucket uint8

// The buckets, the most urgent first. The zero value is Normal in the API: see ParseBucket and
// [Bucket.OrNormal].
const (
	Critical Bucket = 1
	High     Bucket = 2
	Normal   Bucket = 3
	Low      Bucket = 4
)

var bucketNames = [...]string{"", "CRITICAL", "HIGH", "NORMAL", "LOW"}

// Buckets lists the buckets, the most urgent first.
func Buckets() []Bucket { return []Bucket{Critical, High, Normal, Low} }

// OrNormal returns b, or Normal if b is not set.
func (b Bucket) OrNormal() Bucket {
	if b == 0 {
		return Normal
	}
	return b
}

// Valid reports whether b is one of the four buckets.
func (b Bucket) Valid() bool { return b >= Critical && b <= Low }

// String returns the upper-case name.
func (b Bucket) String() string {
	if int(b) < len(bucketNames) {
		return bucketNames[b]
	}
	return fmt.Sprintf("BUCKET(%d)", uint8(b))
}

// ParseBucket reads a name in any case; an empty name is Normal.
func ParseBucket(name string) (Bucket, error) {
	if name == "" {
		return Normal, nil
	}
	for _, b := range Buckets() {
		if strings.EqualFold(b.String(), name) {
			return b, nil
		}
	}
	return 0, &InputError{Field: "priority", Reason: fmt.Sprintf("%q is none of %s", name,
		strings.Join(bucketNames[1:], ", "))}
}

// MarshalText makes buckets names in JSON.
func (b Bucket) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText accepts what MarshalText wrote.
func (b *Bucket) UnmarshalText(t []byte) (err error) {
	*b, err = ParseBucket(string(t))
	return err
}
