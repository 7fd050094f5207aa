package wire

import (
	"fmt"
	"testing"

	"github.com/ax-sched/ax/internal/testdb"
	"github.com/ax-sched/ax/task"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

// TestArgs lets PostgreSQL read what args wrote.
func TestArgs(t *testing.T) {
	c, err := pgx.Connect(t.Context(), testdb.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	id := task.ID{0: 1, 15: 2}
	tests := []struct {
		write func(a *Args)
		want  string // as text
	}{
		{func(a *Args) { a.Int2(-2) }, "-2"},
		{func(a *Args) { a.Int4(-70000) }, "-70000"},
		{func(a *Args) { a.Int8(-1 << 40) }, "-1099511627776"},
		{func(a *Args) { a.Bool(true) }, "true"},
		{func(a *Args) { a.Text("订单 ''") }, "订单 ''"},
		{func(a *Args) { a.Text("") }, ""},
		{func(a *Args) { a.Bytes([]byte{0, 255}) }, `\x00ff`},
		{func(a *Args) { a.Bytes([]byte{}) }, `\x`},
		{func(a *Args) { a.Bytes(nil) }, "NULL"},
		{func(a *Args) { a.TextOrNull("") }, "NULL"},
		{func(a *Args) { a.TextOrNull("a") }, "a"},
		{func(a *Args) { a.Int8OrNull(0) }, "NULL"},
		{func(a *Args) { a.Int8OrNull(-1) }, "-1"},
		{func(a *Args) { a.ID(id) }, "01000000-0000-0000-0000-000000000002"},
		{func(a *Args) { a.ID(task.ID{}) }, "NULL"},
		{func(a *Args) { a.IDOrFirst(task.ID{}) }, "00000000-0000-0000-0000-000000000000"},
		{func(a *Args) { a.Places(3) }, "{1,2,3}"},
		{func(a *Args) { a.Places(0) }, "{}"},
		{func(a *Args) { a.Int2s(3, func(i int) int { return -i }) }, "{0,-1,-2}"},
		{func(a *Args) { a.Int2s(3, func(int) int { return 0 }) }, "{}"},
		{func(a *Args) { a.Int4s(2, func(i int) int { return i << 20 }) }, "{0,1048576}"},
		{func(a *Args) { a.Int8s(2, func(i int) int64 { return -int64(i) << 40 }) },
			"{0,-1099511627776}"},
		{func(a *Args) { a.Bools(2, func(i int) bool { return i == 1 }) }, "{f,t}"},
		{func(a *Args) { a.Bools(2, func(int) bool { return false }) }, "{}"},
		{func(a *Args) {
			a.IDs(2, func(i int) task.ID { return []task.ID{{}, id}[i] })
		}, "{NULL,01000000-0000-0000-0000-000000000002}"},
		{func(a *Args) { a.IDs(2, func(int) task.ID { return task.ID{} }) }, "{}"},
		{func(a *Args) {
			a.Texts(3, func(i int) string { return []string{"a b", "", "ü"}[i] })
		}, `{"a b",NULL,ü}`},
		{func(a *Args) { a.Texts(3, func(int) string { return "" }) }, "{}"},
		{func(a *Args) {
			a.Byteas(3, func(i int) []byte { return [][]byte{nil, {}, {1}}[i] })
		}, `{NULL,"\\x","\\x01"}`},
	}
	for i, tt := range tests {
		a := &Args{}
		tt.write(a)
		sql := fmt.Sprintf("SELECT coalesce($1::%s::text, 'NULL')", typeNames[a.OIDs[0]])
		res := c.PgConn().ExecParams(t.Context(), sql, a.Vals, a.OIDs, Binary, nil).Read()
		if res.Err != nil {
			t.Fatalf("case %d: %v", i, res.Err)
		}
		if got := string(res.Rows[0][0]); got != tt.want {
			t.Errorf("case %d: %s, want %s", i, got, tt.want)
		}
	}
}

var typeNames = map[uint32]string{21: "int2", 23: "int4", 20: "int8", 16: "bool", 25: "text",
	17: "bytea", 2950: "uuid", 1005: "int2[]", 1007: "int4[]", 1016: "int8[]", 1000: "bool[]",
	2951: "uuid[]", 1009: "text[]", 1001: "bytea[]"}

func TestDictionary(t *testing.T) {
	d := &Dictionary{}
	var got []int
	for _, w := range []string{"a", "a", "", "b", "a", "b", ""} {
		got = append(got, d.place(w))
	}
	if diff := cmp.Diff([]int{1, 1, 0, 2, 1, 2, 0}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a", "b"}, d.words); diff != "" {
		t.Error(diff)
	}
}

func TestRowNoticesWrongColumns(t *testing.T) {
	r := &Row{Cols: [][]byte{{1, 2, 3}}}
	if r.Int8(); r.Err == nil {
		t.Error("three bytes were read as a bigint")
	}
	r = &Row{}
	if r.Text(); r.Err == nil {
		t.Error("a column that is not there was read")
	}
}
