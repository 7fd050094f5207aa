//go:build !linux

package wire

import "github.com/jackc/pgx/v5"

// Dialer leaves the connection as it is: TCP_USER_TIMEOUT is an option of Linux. The server's
// tcp_user_timeout and pgx's keep-alive remain.
func Dialer(*pgx.ConnConfig) {}
