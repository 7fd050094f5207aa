//go:build !linux

package main

import "os"

// fdatasync is fsync where the system has no cheaper call.
func fdatasync(f *os.File) error { return f.Sync() }
