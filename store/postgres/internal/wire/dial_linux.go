package wire

import (
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"
)

// deadPeer is how long sent data may stay unconfirmed before the connection is given up. Without
// it a server that lost its power is noticed after minutes.
const deadPeer = 3 * time.Second

// Dialer makes the connections of cfg notice a dead server.
func Dialer(cfg *pgx.ConnConfig) {
	d := &net.Dialer{KeepAlive: deadPeer, Control: func(network, _ string, c syscall.RawConn) error {
		if !strings.HasPrefix(network, "tcp") {
			return nil
		}
		var set error
		err := c.Control(func(fd uintptr) {
			set = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT,
				int(deadPeer.Milliseconds()))
		})
		if err != nil {
			return err
		}
		return set
	}}
	cfg.DialFunc = d.DialContext
}
