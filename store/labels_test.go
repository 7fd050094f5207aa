package store_test

import (
	"maps"
	"testing"

	"github.com/ax-sched/ax/store"
)

func TestLabels(t *testing.T) {
	for _, want := range []map[string]string{
		nil, {"a": "b"}, {"": "", "b": `"quoted" \ & <html>`, "订单": "\U0001F600"},
	} {
		text, err := store.FormatLabels(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := store.ParseLabels(text)
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%v became %s and %v, %v", want, text, got, err)
		}
	}
	if text, _ := store.FormatLabels(map[string]string{"b": "1", "a": "2"}); text !=
		`{"a":"2","b":"1"}` {
		t.Errorf("labels are written as %s", text)
	}
	if got, err := store.ParseLabels(`{"a":`); err == nil {
		t.Errorf("half an object gave %v", got)
	}
}
