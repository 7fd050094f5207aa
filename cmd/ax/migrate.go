package main

import (
	"context"
	"fmt"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/mysql"
	"github.com/ax-sched/ax/store/postgres"
	"github.com/ax-sched/ax/store/sqlite"

	"github.com/ax-sched/ax/internal/show"
)

type migrateCmd struct {
	Up     migrateUpCmd     `cmd:"" help:"Make the tables, or bring them to this version."`
	Status migrateStatusCmd `cmd:"" help:"Compare the tables with this version."`
	Dump   migrateDumpCmd   `cmd:"" help:"Print the SQL that makes the tables."`
}

// schemaJSON is the JSON of up and status.
type schemaJSON struct {
	Database  string `json:"database"`
	Installed int    `json:"installed"`
	Newest    int    `json:"newest"`
	Pending   int    `json:"pending"`
}

// version compares the schema of a database with what this program knows.
func (d database) version(ctx context.Context) (v store.SchemaVersion, err error) {
	if err := d.exists(); err != nil {
		return v, err
	}
	switch {
	case d.path != "":
		v, err = sqlite.Status(d.path)
	case d.isMySQL():
		v, err = mysql.Status(ctx, d.url)
	default:
		v, err = postgres.Status(ctx, d.url)
	}
	if err != nil {
		return v, fmt.Errorf("%s: %w", d, err)
	}
	return v, nil
}

// print writes what a database has and lacks.
func (d database) print(a *app, v store.SchemaVersion, asJSON bool) error {
	pending := max(v.Newest-v.Installed, 0)
	if asJSON {
		return show.JSON(a.out, schemaJSON{d.String(), v.Installed, v.Newest, pending})
	}
	words := "up to date"
	switch {
	case v.Installed > v.Newest:
		words = "newer than this program: upgrade the program"
	case v.Installed == 0:
		words = "there are no tables of ax yet: ax migrate up makes them"
	case pending > 0:
		words = fmt.Sprintf("%d to do: ax migrate up", pending)
	}
	_, err := fmt.Fprintf(a.out, "%s\nschema version %d, this program knows %d: %s\n", d,
		v.Installed, v.Newest, words)
	return err
}

type migrateUpCmd struct {
	dbFlag
	JSON bool `help:"Print JSON."`
}

// Help shows an example.
func (migrateUpCmd) Help() string {
	return `Programs migrate when they open a database, unless they were told not to (NoMigrate).
This does the same ahead of them, in one transaction (on MySQL and MariaDB
in steps that can be repeated); several at once are harmless. A SQLite file
that does not exist is made.

Example: ax migrate up --db postgres://owner@db/shop

JSON: database, installed, newest, pending.`
}

// Run migrates.
func (c *migrateUpCmd) Run(a *app) error {
	db, err := c.parse()
	if err != nil {
		return err
	}
	st, err := db.open(a.ctx)
	if err != nil {
		return err
	}
	if err := st.Close(); err != nil {
		return err
	}
	v, err := db.version(a.ctx)
	if err != nil {
		return err
	}
	return db.print(a, v, c.JSON)
}

type migrateStatusCmd struct {
	dbFlag
	JSON bool `help:"Print JSON."`
}

// Help shows an example.
func (migrateStatusCmd) Help() string {
	return `Changes nothing. Exit status 1 if the database cannot be read; one that lacks something
gives 0 (see pending).

Example: ax migrate status --db sqlite:ax.db

JSON: database, installed, newest, pending.`
}

// Run compares.
func (c *migrateStatusCmd) Run(a *app) error {
	db, err := c.parse()
	if err != nil {
		return err
	}
	v, err := db.version(a.ctx)
	if err != nil {
		return err
	}
	return db.print(a, v, c.JSON)
}

type migrateDumpCmd struct {
	dbFlag
	Schema string `env:"-" help:"PostgreSQL: the schema (default: the first of the search_path)."`
	From   int    `env:"-" help:"Only what comes after this version."`
}

// Help shows an example.
func (migrateDumpCmd) Help() string {
	return `For a person who applies it by hand, with psql, sqlite3 or mysql. --db chooses the dialect;
the database is not opened. Programs that open it afterwards find nothing to do.

Example: ax migrate dump --db postgres: --schema ax | psql shop`
}

// Run prints the script.
func (c *migrateDumpCmd) Run(a *app) error {
	db, err := c.dialect()
	if err != nil {
		return err
	}
	var script string
	switch {
	case c.From < 0:
		return usage("--from is %d; use 0 or more", c.From)
	case c.Schema != "" && db.isMySQL():
		return usage("--schema is for PostgreSQL; MySQL and MariaDB have none in a database")
	case db.isMySQL():
		script, err = mysql.Dump(c.From)
	case db.path == "":
		script, err = postgres.Dump(c.Schema, c.From)
	case c.Schema != "":
		return usage("--schema is for PostgreSQL; a SQLite file has none")
	default:
		script, err = sqlite.Dump(c.From)
	}
	if err != nil {
		return usage("--from: %w", err)
	}
	_, err = fmt.Fprint(a.out, script)
	return err
}

// dialect reads --db, of which the scheme is enough.
func (c *migrateDumpCmd) dialect() (database, error) {
	switch c.DB {
	case "postgres:", "postgresql:":
		return database{}, nil
	case "sqlite:":
		return database{path: "ax.db"}, nil
	case "mysql:", "mariadb:":
		return database{url: c.DB}, nil
	}
	return c.parse()
}
