package main

import (
	"slices"
	"strings"
	"testing"
)

func TestParseKeepsWhatCameBeforeAnError(t *testing.T) {
	fs, err := parse([]byte(`{"name":"a","value":2.5,"unit":"ms"}` + "\nnonsense\n"))
	if err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("error %v, want one that shows the line", err)
	}
	if len(fs) != 1 || fs[0].Name != "a" || fs[0].Value != 2.5 || fs[0].Unit != "ms" {
		t.Errorf("figures %+v", fs)
	}
}

func TestEnvironmentHasNothingThatChangesAx(t *testing.T) {
	t.Setenv("AX_SLOTS", "1")
	t.Setenv("AX_DB", "sqlite:mine.db")
	if i := slices.IndexFunc(environment(""), func(kv string) bool {
		return strings.HasPrefix(kv, "AX_")
	}); i >= 0 {
		t.Errorf("%q reaches the program", environment("")[i])
	}
	if env := environment("postgres://h/d"); !slices.Contains(env, "AX_DB=postgres://h/d") {
		t.Error("the database does not reach the program")
	}
}
