// Command rawfsync measures how long the disk takes to make a write durable. A disk that changes
// between two runs makes figures of databases worthless, so it is run before and after.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ax-sched/ax/bench/peers/measure"
)

func main() {
	dir := flag.String("dir", os.TempDir(), "folder on the disk to measure")
	n := flag.Int("n", 2000, "writes of each kind")
	measure.Main(func() error {
		return errors.Join(write(*dir, *n, false), write(*dir, *n, true))
	})
}

// block is what one commit of a small transaction writes, about.
const block = 8192

// write appends blocks to a new file or, with over, overwrites the blocks it has, as a database
// does that recycles its log.
func write(dir string, n int, over bool) (err error) {
	path := filepath.Join(dir, fmt.Sprintf("rawfsync-%d.dat", os.Getpid()))
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(path)) }()
	name := "fdatasync of 8 KiB, append"
	if over {
		name = "fdatasync of 8 KiB, overwrite"
		if _, err := f.Write(make([]byte, block*n)); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
	}
	var l measure.Latencies
	b := make([]byte, block)
	for i := range n {
		b[i%block]++
		start := time.Now()
		if _, err := f.WriteAt(b, int64(i)*block); err != nil {
			return err
		}
		if err := fdatasync(f); err != nil {
			return err
		}
		l.Add(time.Since(start))
	}
	return l.Print(name)
}
