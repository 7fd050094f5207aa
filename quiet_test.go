package ax_test

import "log/slog"

// quiet drops what a scheduler logs; tests look at the table.
var quiet = slog.New(slog.DiscardHandler)
