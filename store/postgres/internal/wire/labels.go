package wire

import "encoding/json"

// LabelText is the stored form of labels; none is "".
func LabelText(m map[string]string) string {
	if len(m) == 0 {
		return ""
	}
	b, err := json.Marshal(m)
	if err != nil {
		return "" // a map of strings has a JSON form
	}
	return string(b)
}

// Labels sends labels; none is NULL.
func (a *Args) Labels(m map[string]string) { a.TextOrNull(LabelText(m)) }

// Labels reads what LabelText wrote.
func (r *Row) Labels() map[string]string {
	c := r.Col(0)
	if len(c) == 0 {
		return nil
	}
	var m map[string]string
	if err := json.Unmarshal(c, &m); err != nil && r.Err == nil {
		r.Err = err
	}
	return m
}
