package store

import (
	"encoding/json"
	"fmt"
)

// FormatLabels returns labels as a JSON object with its names in order; none is "".
func FormatLabels(labels map[string]string) (string, error) {
	if len(labels) == 0 {
		return "", nil
	}
	b, err := json.Marshal(labels)
	if err != nil {
		return "", fmt.Errorf("labels: %w", err)
	}
	return string(b), nil
}

// ParseLabels reads what FormatLabels wrote.
func ParseLabels(text string) (labels map[string]string, err error) {
	if text == "" {
		return nil, nil
	}
	if err = json.Unmarshal([]byte(text), &labels); err != nil {
		return nil, fmt.Errorf("labels %.60q: %w", text, err)
	}
	return labels, nil
}
