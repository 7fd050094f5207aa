package crontab

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// HostZone is the name of the machine's time zone, or "UTC" if the machine does not say. A name is
// needed because jobs are stored: a zone "Local" would mean something else on another machine.
func HostZone() string {
	candidates := []string{strings.TrimPrefix(os.Getenv("TZ"), ":")}
	if path, err := filepath.EvalSymlinks("/etc/localtime"); err == nil {
		if _, name, ok := strings.Cut(path, "/zoneinfo/"); ok {
			candidates = append(candidates, name)
		}
	}
	if text, err := os.ReadFile("/etc/timezone"); err == nil {
		candidates = append(candidates, strings.TrimSpace(string(text)))
	}
	for _, name := range candidates {
		if name == "" || name == "Local" {
			continue
		}
		if _, err := time.LoadLocation(name); err == nil {
			return name
		}
	}
	return "UTC"
}
