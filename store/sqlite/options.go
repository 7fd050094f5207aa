package sqlite

import (
	"time"

	"github.com/ax-sched/ax/task"
)

// Option changes what Open does.
type Option func(*options)

type options struct {
	sync     Durability
	clock    func() time.Time
	busy     time.Duration
	maxPages int64 // of the file; 0 is no limit
	shared   bool
	keep     bool // the schema as it is
}

// Durability says what a commit survives.
type Durability int

const (
	// Full is the default: a commit returns when it is on the disk, so an acknowledged write
	// survives the loss of power.
	Full Durability = 2
	// Normal leaves the writing to the operating system: acknowledged writes survive the death of
	// the process, but the latest ones may be lost with the power. The file stays consistent.
	Normal Durability = 1
)

// Synchronous chooses the durability of commits.
func Synchronous(d Durability) Option { return func(o *options) { o.sync = d } }

// Clock replaces the host's wall clock as the store's clock. It may step, also backwards, and is
// called once a transaction.
func Clock(now func() time.Time) Option { return func(o *options) { o.clock = now } }

// BusyTimeout is how long a write waits while another process writes, before it gives
// store.ErrBusy. The default is 10 s.
func BusyTimeout(d time.Duration) Option { return func(o *options) { o.busy = d } }

// Shared lets ax live in a file that is the program's own, beside its tables: those of ax, whose
// names begin with ax_, are added when they are missing, and the file's application id and the
// other tables are left alone. The file becomes one in WAL mode. Without it a file that has other
// tables and none of ax gives store.ErrDamaged; once ax is in it, it opens either way.
func Shared() Option { return func(o *options) { o.shared = true } }

// NoMigrate makes Open leave the schema as it is: a file that does not exist is not made
// (fs.ErrNotExist), and one without tables of ax, or with those of an older version, gives
// store.ErrOlder. It is for programs that must not change the schema, because somebody else does
// that with `ax migrate up` or by hand.
func NoMigrate() Option { return func(o *options) { o.keep = true } }

func newOptions(opts []Option) options {
	o := options{sync: Full, clock: time.Now, busy: 10 * time.Second}
	for _, set := range opts {
		set(&o)
	}
	return o
}

func (o *options) now() task.Time { return task.FromGo(o.clock()) }
