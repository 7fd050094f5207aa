package lite

import (
	"fmt"

	sqlite3 "modernc.org/sqlite/lib"
)

// Error is a result code of SQLite with its words.
type Error struct {
	Code int // the extended result code
	Text string
}

func (e *Error) Error() string { return fmt.Sprintf("sqlite: %s (%d)", e.Text, e.Code) }

// Primary is the result code without its extension.
func (e *Error) Primary() int { return e.Code & 0xff }

// The primary result codes that the store tells apart.
const (
	Busy      = sqlite3.SQLITE_BUSY
	Corrupt   = sqlite3.SQLITE_CORRUPT
	Full      = sqlite3.SQLITE_FULL
	Interrupt = sqlite3.SQLITE_INTERRUPT
	NotADB    = sqlite3.SQLITE_NOTADB
	ReadOnly  = sqlite3.SQLITE_READONLY
	CantOpen  = sqlite3.SQLITE_CANTOPEN
	Locked    = sqlite3.SQLITE_LOCKED
	Generic   = sqlite3.SQLITE_ERROR
)
