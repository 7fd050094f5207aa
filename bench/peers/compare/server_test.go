package main

import (
	"errors"
	"os"
	"strings"
	"testing"
)

func TestPrivateServer(t *testing.T) {
	ctx := t.Context()
	s, err := startServer(ctx, os.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	vs, err := s.show(ctx, "fsync", "shared_buffers", "max_wal_size")
	if err != nil || strings.Join(vs, " ") != "on 1GB 4GB" {
		t.Errorf("settings %q, %v", vs, err)
	}
	given := &server{dsn: s.dsn}
	dsn, drop, err := given.fresh(ctx)
	if err != nil {
		t.Fatal(err)
	}
	fresh := &server{dsn: dsn}
	if err := fresh.exec(ctx, "CREATE TABLE t (n int)"); err != nil {
		t.Error(err)
	}
	if err := errors.Join(drop(), given.close()); err != nil {
		t.Error(err)
	}
	if err := fresh.exec(ctx, "SELECT 1"); err == nil {
		t.Error("the database is there after drop")
	}
	if err := s.exec(ctx, "SELECT 1"); err != nil {
		t.Errorf("closing a given server has ended it: %v", err)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("folder after close: %v, want that it does not exist", err)
	}
}
