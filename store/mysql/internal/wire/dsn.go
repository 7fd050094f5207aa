package wire

import (
	"net"
	"net/url"
	"regexp"
	"strings"

	"github.com/ax-sched/ax/task"
	"github.com/go-sql-driver/mysql"
)

// Parse reads a URL or the driver's own form.
func Parse(dsn string) (*mysql.Config, error) {
	own, err := driverForm(dsn)
	if err != nil {
		return nil, err
	}
	cfg, err := mysql.ParseDSN(own)
	if err != nil {
		return nil, &task.InputError{Field: "dsn", Reason: err.Error() +
			"; write mysql://USER:PASSWORD@HOST:3306/DATABASE"}
	}
	if cfg.DBName == "" {
		return nil, &task.InputError{Field: "dsn", Reason: "names no database; " +
			"write mysql://USER:PASSWORD@HOST:3306/DATABASE"}
	}
	cfg.MultiStatements = false
	cfg.Logger = &mysql.NopLogger{} // what it would say comes as an error too
	if cfg.ConnectionAttributes == "" {
		cfg.ConnectionAttributes = "program_name:ax"
	}
	return cfg, nil
}

// driverForm returns what the driver takes for a URL.
func driverForm(dsn string) (string, error) {
	scheme, _, isURL := strings.Cut(dsn, "://")
	if !isURL || scheme != "mysql" && scheme != "mariadb" {
		return dsn, nil
	}
	u, err := url.Parse(dsn)
	if err != nil || u.User == nil {
		// The error would repeat the text, which may hold a password.
		return "", &task.InputError{Field: "dsn",
			Reason: "is no URL, or names no user; write mysql://USER:PASSWORD@HOST:3306/DATABASE"}
	}
	cfg := mysql.NewConfig()
	cfg.User = u.User.Username()
	cfg.Passwd, _ = u.User.Password()
	cfg.DBName = strings.TrimPrefix(u.Path, "/")
	q := u.Query()
	switch socket := q.Get("socket"); {
	case socket != "":
		cfg.Net, cfg.Addr = "unix", socket
		q.Del("socket")
	default:
		port := u.Port()
		if port == "" {
			port = "3306"
		}
		host := u.Hostname()
		if host == "" {
			host = "127.0.0.1"
		}
		cfg.Net, cfg.Addr = "tcp", net.JoinHostPort(host, port)
	}
	own := cfg.FormatDSN()
	if rest := q.Encode(); rest != "" {
		sep := "?"
		if strings.Contains(own[strings.LastIndex(own, "/"):], "?") {
			sep = "&"
		}
		own += sep + rest
	}
	return own, nil
}

var goodPrefix = regexp.MustCompile(`^[0-9A-Za-z_]{0,20}$`)

// CheckPrefix refuses what is no part of the name of a table.
func CheckPrefix(prefix string) error {
	if !goodPrefix.MatchString(prefix) {
		return &task.InputError{Field: "table prefix",
			Reason: "has something else than 20 letters, digits and underscores"}
	}
	return nil
}
