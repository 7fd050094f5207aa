package kinds

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"

	"github.com/ax-sched/ax/task"
)

// Fill sets kind and payload from typed arguments, if there are any. The error is a
// *task.InputError.
func Fill(args interface{ Kind() string }, kind *string, payload *[]byte) error {
	if args == nil {
		return nil
	}
	bad := func(reason string, err error) error {
		return &task.InputError{Field: "args", Reason: reason, Err: err}
	}
	if *kind != "" || *payload != nil {
		return bad("sets kind and payload; leave those two empty", nil)
	}
	if v := reflect.ValueOf(args); v.Kind() == reflect.Pointer && v.IsNil() {
		return bad("is a nil pointer", nil)
	}
	b, err := json.Marshal(args)
	if err != nil {
		return bad(err.Error(), err)
	}
	*kind, *payload = args.Kind(), b
	return nil
}

// Decode reads typed arguments from the JSON of a payload. Numbers in fields of type any become
// json.Number, so that none loses digits; unknown fields are ignored. The error is a
// *task.InputError that names the field where that can be known.
func Decode[T any](payload []byte) (T, error) {
	var args T
	d := json.NewDecoder(bytes.NewReader(payload))
	d.UseNumber()
	err := d.Decode(&args)
	if err == nil {
		if _, end := d.Token(); errors.Is(end, io.EOF) {
			return args, nil
		}
		err = errors.New("has something behind its JSON value")
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("is empty; submit the JSON of the arguments")
	}
	name, reason := "", err.Error()
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		name = wrong.Field
		reason = fmt.Sprintf("is a JSON %s; the handler takes %s", wrong.Value, wrong.Type)
	} else {
		name = fieldOf[T](payload)
	}
	if name != "" {
		name = "." + name
	}
	return args, &task.InputError{Field: "payload" + name, Reason: reason, Err: err}
}

// fieldOf finds the first field, by name, that alone does not decode: the errors of types that
// read themselves, such as time.Time, do not say which field it was. It returns "" if none.
func fieldOf[T any](payload []byte) string {
	var args T
	if _, own := any(&args).(json.Unmarshaler); own {
		return "" // it may want all of its fields
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(payload, &fields) != nil {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		one, err := json.Marshal(map[string]json.RawMessage{name: fields[name]})
		if err == nil && json.Unmarshal(one, &args) != nil {
			return name
		}
	}
	return ""
}
