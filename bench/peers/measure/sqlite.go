package measure

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver that ax builds on
)

// OpenSQLite makes an empty database in a new folder under dir, in WAL mode with the given
// synchronous setting, NORMAL or FULL, and one connection, which is what writers of SQLite do
// best with. done closes the database and removes the folder.
func OpenSQLite(dir, synchronous string) (db *sql.DB, done func() error, err error) {
	if synchronous != "NORMAL" && synchronous != "FULL" {
		return nil, nil, fmt.Errorf("-sync: %q; use NORMAL or FULL", synchronous)
	}
	dir, err = os.MkdirTemp(dir, "ax-peer-")
	if err != nil {
		return nil, nil, err
	}
	db, err = sql.Open("sqlite", "file:"+filepath.Join(dir, "peer.db")+
		"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(10000)&_pragma=synchronous("+
		synchronous+")")
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	db.SetMaxOpenConns(1)
	return db, func() error { return errors.Join(db.Close(), os.RemoveAll(dir)) }, nil
}
