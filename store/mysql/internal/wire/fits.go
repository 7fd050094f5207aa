package wire

import (
	"fmt"

	"github.com/ax-sched/ax/task"
)

// MostRows is the most rows of one transaction.
const MostRows = 200

// What the columns of texts hold.
const (
	LongName = 250
	LongText = 1000
)

// Fits refuses a text that a column cannot take: it would fail a batch of others.
func Fits(field, text string, most int) error {
	if len(text) > most {
		return &task.InputError{Field: field,
			Reason: fmt.Sprintf("has %d bytes; at most %d", len(text), most)}
	}
	return nil
}
