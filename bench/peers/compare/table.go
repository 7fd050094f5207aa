package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
)

// columns of the table. Ratio is ax to peer.
var columns = []string{"what", "unit", "ax: median (min-max)", "peer: median", "ratio", "target",
	"reached"}

// cells fills the columns from the results.
func (r row) cells(res *results) []string {
	figures := res.of(r.ax)
	ax := spreadOf(values(figures, r.ax.p50))
	peer, label := r.best(res)
	cells := []string{r.what, r.unit, "not measured", "", "", r.goal.String(), ""}
	if ax.n > 0 {
		cells[2] = short(ax.median)
		if ax.n > 1 {
			cells[2] += fmt.Sprintf(" (%s-%s)", short(ax.min), short(ax.max))
		}
	}
	if peer.n > 0 {
		cells[3] = short(peer.median) + " " + label
	} else if len(r.peers) > 0 {
		cells[3] = "not measured"
	}
	if ax.n > 0 && peer.n > 0 && peer.median > 0 {
		cells[4] = short(ax.median/peer.median) + "x"
	}
	if r.goal != (goal{}) && ax.n > 0 {
		cells[6] = "no"
		if r.goal.reached(ax, peer, isExact(figures)) {
			cells[6] = "yes"
		}
	}
	return cells
}

// best is the peer with the best median.
func (r row) best(res *results) (best spread, label string) {
	for _, s := range r.peers {
		p := spreadOf(values(res.of(s), s.p50))
		if p.n == 0 {
			continue
		}
		if best.n == 0 || r.more == (p.median > best.median) {
			best, label = p, s.label
		}
	}
	return best, label
}

// writeTable prints the rows of the groups for a terminal or as Markdown.
func writeTable(w io.Writer, groups []group, res *results, markdown bool) error {
	if markdown {
		return writeMarkdown(w, groups, res)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(columns, "\t"))
	for _, g := range groups {
		for _, r := range g.rows {
			fmt.Fprintln(t, strings.Join(r.cells(res), "\t"))
		}
	}
	return t.Flush()
}

func writeMarkdown(w io.Writer, groups []group, res *results) error {
	line := func(cells []string) error {
		_, err := fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
		return err
	}
	if err := line(columns); err != nil {
		return err
	}
	if err := line([]string{"---", "---", "---:", "---:", "---:", "---", "---"}); err != nil {
		return err
	}
	for _, g := range groups {
		for _, r := range g.rows {
			if err := line(r.cells(res)); err != nil {
				return err
			}
		}
	}
	return nil
}

// short prints three digits that matter, and thousands apart.
func short(v float64) string {
	switch {
	case v >= 1000:
		return thousands(v)
	case v == math.Trunc(v) && v < 1000, v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v >= 1:
		return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 2, 64), "0")
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// thousands prints a whole number with commas.
func thousands(v float64) string {
	s := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
