package schema

import (
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/sqlite/internal/lite"
)

// object is a table or an index, and what made it.
type object struct{ kind, name, sql string }

// Faults compares the tables and indexes of a file with what the migrations make: it makes them in
// memory.
func (s Schema) Faults(c *lite.Conn) ([]store.SchemaFault, error) {
	want, err := s.intended()
	if err != nil {
		return nil, err
	}
	have, err := objects(c)
	if err != nil {
		return nil, err
	}
	byName := map[string]object{}
	for _, h := range have {
		byName[h.name] = h
	}
	var out []store.SchemaFault
	for _, w := range want {
		problem := ""
		switch h := byName[w.name]; {
		case h.kind != w.kind:
			problem = "missing"
		case h.sql != w.sql:
			problem = "differs"
		default:
			continue
		}
		out = append(out, store.SchemaFault{Object: w.kind, Name: w.name, Problem: problem})
	}
	return out, nil
}

// intended returns what the migrations make.
func (s Schema) intended() (out []object, err error) {
	c, err := lite.Open(":memory:", true)
	if err != nil {
		return nil, err
	}
	for _, m := range s.all {
		if err == nil {
			err = c.Exec(m.SQL)
		}
	}
	if err == nil {
		out, err = objects(c)
	}
	if end := c.Close(); err == nil {
		err = end
	}
	return out, err
}

// objects returns the tables and indexes of ax in the order in which they were made. Those that
// SQLite makes by itself have no text: they come and go with their tables.
func objects(c *lite.Conn) (out []object, err error) {
	err = each(c, `
SELECT type, name, sql FROM sqlite_schema
 WHERE substr(name, 1, 3) = 'ax_' AND type IN ('table', 'index') AND sql IS NOT NULL
 ORDER BY rowid`, func(q *lite.Stmt) {
		out = append(out, object{q.ColText(0), q.ColText(1), q.ColText(2)})
	})
	return out, err
}
