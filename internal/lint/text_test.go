package lint

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// unfinished matches the marks of work left undone. It is put together so that it does not
// match itself.
var unfinished = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|X` + `XX)\b`)

// registries are hosts that a build is configured with from outside; a file that names one
// ties everybody to it.
var registries = []string{
	"proxy.golang" + ".org", "sum.golang" + ".org", "goproxy" + ".",
	"registry.npmjs" + ".org", "deb.debian" + ".org", "security.debian" + ".org",
	"pypi" + ".org",
}

// checkTexts reads every file for what no file may say.
func checkTexts(r *repo) (bad []string) {
	for _, t := range r.texts {
		if name := path.Base(t.path); name == "go.sum" || name == "tools.sum" {
			continue // hashes spell anything
		}
		n := 0
		for line := range strings.Lines(string(t.data)) {
			n++
			if w := unfinished.FindString(line); w != "" {
				bad = append(bad, fmt.Sprintf("%s:%d: %s: finish it or take it out",
					t.path, n, w))
			}
			for _, host := range registries {
				if strings.Contains(line, host) {
					bad = append(bad, fmt.Sprintf("%s:%d: names the registry %s",
						t.path, n, host))
				}
			}
			for _, place := range r.places {
				if namesPlace(line, place) {
					bad = append(bad, fmt.Sprintf("%s:%d: names %s, a folder of one machine",
						t.path, n, place))
				}
			}
		}
	}
	return bad
}

// namesPlace reports whether a line has the absolute path of a folder or of what is in it,
// not as the end of a longer path.
func namesPlace(line, place string) bool {
	for i := 0; ; {
		j := strings.Index(line[i:], place)
		if j < 0 {
			return false
		}
		start, end := i+j, i+j+len(place)
		before := start == 0 || !isPathByte(line[start-1])
		after := end < len(line) && line[end] == '/'
		if before && after {
			return true
		}
		i = end
	}
}

func isPathByte(c byte) bool {
	return c == '/' || c == '.' || c == '_' || c == '-' || c == '*' ||
		'0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// goLine is the oldest Go that an embedding user needs. It is a floor for all of them, so it
// is raised on purpose and never by a tool.
const goLine = "go 1.25.0"

// checkGoMod reads the lines of go.mod that bind every user.
func checkGoMod(r *repo) (bad []string) {
	for _, t := range r.texts {
		if t.path != "go.mod" {
			continue
		}
		found := false
		for line := range strings.Lines(string(t.data)) {
			line = strings.TrimSpace(line)
			found = found || line == goLine
			for _, word := range []string{"go ", "toolchain ", "replace ", "exclude ", "tool "} {
				if strings.HasPrefix(line, word) && line != goLine {
					bad = append(bad, fmt.Sprintf("go.mod: %q: want %q and no toolchain, "+
						"replace, exclude or tool line (tools are in tools.mod)", line, goLine))
				}
			}
		}
		if !found {
			bad = append(bad, fmt.Sprintf("go.mod: no line %q", goLine))
		}
		return bad
	}
	return []string{"go.mod: not found"}
}
