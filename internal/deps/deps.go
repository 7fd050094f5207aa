// Package deps pins modules until their first real import.
package deps

import (
	_ "github.com/alecthomas/kong"
	_ "github.com/anishathalye/porcupine"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/pgxpool"
	_ "golang.org/x/sys/unix"
	_ "modernc.org/sqlite"
	_ "pgregory.net/rapid"
)
