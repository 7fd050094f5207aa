package postgres

import "github.com/ax-sched/ax/store/postgres/internal/wire"

const (
	// mostRows is how many rows one statement takes: measured, larger ones gain nothing.
	mostRows = 1000
	// mostBytes bounds the texts and payloads of one statement; a message of PostgreSQL ends
	// at 1 GiB, and both sides hold it in memory.
	mostBytes = 8 << 20
)

// args are the parameters of a statement.
type args struct{ wire.Args }

// newArgs makes room for a batch of n rows.
func newArgs(params, n int) *args { return &args{wire.NewArgs(params, 1024+n*320)} }

// row is a row of a result.
type row struct{ wire.Row }
