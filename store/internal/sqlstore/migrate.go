// Package sqlstore holds what the SQL stores share. It contains no SQL.
package sqlstore

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ax-sched/ax/store"
)

// Migration is one numbered step of a schema.
type Migration struct {
	Version int    // from 1, without a gap
	Name    string // what the file name says after the number
	SQL     string
}

// Load reads the files NNNN_name.sql of dir and returns them in the order of their numbers. The
// numbers must run 1, 2, 3 ...: a gap or a double means that a file was lost or misnamed, and a
// database must not be changed by half of the steps.
func Load(files fs.FS, dir string) ([]Migration, error) {
	entries, err := fs.ReadDir(files, dir)
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	var all []Migration
	for _, e := range entries {
		m, err := parseName(e.Name())
		if err != nil {
			return nil, err
		}
		b, err := fs.ReadFile(files, path.Join(dir, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("read migration %s: %w", e.Name(), err)
		}
		m.SQL = string(b)
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b Migration) int { return a.Version - b.Version })
	for i, m := range all {
		if m.Version != i+1 {
			return nil, fmt.Errorf("migration %04d_%s.sql: want number %04d here", m.Version,
				m.Name, i+1)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no migrations in %q", dir)
	}
	return all, nil
}

func parseName(file string) (Migration, error) {
	num, name, ok := strings.Cut(strings.TrimSuffix(file, ".sql"), "_")
	v, err := strconv.Atoi(num)
	if !ok || err != nil || v < 1 || len(num) != 4 || !strings.HasSuffix(file, ".sql") {
		return Migration{}, fmt.Errorf("migration %q: want a name such as 0001_init.sql", file)
	}
	return Migration{Version: v, Name: name}, nil
}

// Plan returns the steps that a database at version installed lacks; 0 is an empty database. One
// that is ahead of the last step gives store.ErrNewer.
func Plan(all []Migration, installed int) ([]Migration, error) {
	switch {
	case installed < 0:
		return nil, fmt.Errorf("schema version %d: %w", installed, store.ErrDamaged)
	case installed > len(all):
		return nil, fmt.Errorf("schema version %d, this program knows %d: %w", installed, len(all),
			store.ErrNewer)
	}
	return all[installed:], nil
}

// Check is Plan for a store that may have been told to keep the schema as it is: then a database
// that lacks steps gives store.ErrOlder.
func Check(all []Migration, installed int, keep bool) ([]Migration, error) {
	todo, err := Plan(all, installed)
	if err == nil && keep && len(todo) > 0 {
		return nil, fmt.Errorf("schema version %d, this program needs %d: %w", installed, len(all),
			store.ErrOlder)
	}
	return todo, err
}

// Database is what Bring does to a database, in the words of its dialect.
type Database struct {
	// Installed reads the version of the schema; 0 is an empty database.
	Installed func() (int, error)
	// Alone runs f in a transaction, in which nobody else who does the same is.
	Alone func(f func() error) error
	// Run makes one step and notes its version.
	Run func(Migration) error
}

// Bring brings a schema to the last of all steps, in one transaction. Who finds nothing to do
// writes nothing, so that the right to change the schema is not needed then. Of several programs
// that start at once the first does it; the others wait, and find it done.
func (d Database) Bring(all []Migration, keep bool) error {
	installed, err := d.Installed()
	if err != nil {
		return err
	}
	if todo, err := Check(all, installed, keep); err != nil || len(todo) == 0 {
		return err
	}
	return d.Alone(func() error {
		installed, err := d.Installed() // again, now that nobody else can change it
		if err != nil {
			return err
		}
		todo, err := Plan(all, installed)
		if err != nil {
			return err
		}
		for _, m := range todo {
			if err := d.Run(m); err != nil {
				return fmt.Errorf("migration %04d_%s: %w", m.Version, m.Name, err)
			}
		}
		return nil
	})
}
