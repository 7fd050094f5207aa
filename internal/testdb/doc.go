// Package testdb gives tests a real PostgreSQL and a real MariaDB.
//
// [Postgres] is what most tests want: a fresh database on a server that the test binary
// shares among its tests. [StartPostgres] is for tests that stop, kill and start the server
// themselves. [MySQL] and [StartMariaDB] are the same for MariaDB, which has a socket instead of a
// port.
//
// The server is always a private one: its own folder under [os.TempDir], its own loopback
// port, its own password. Nothing is reused from an earlier run. A missing server is a
// failure of the test and never a skip: the programs are looked for in PATH and in the usual
// folders of distributions, and when they are nowhere, the process is root and apt exists,
// they are installed.
//
// No clean-up call is needed. Each server has a watchdog, a shell that waits for the end of
// the test binary (however it ends, SIGKILL included), then stops the server and removes its
// folder.
//
// With AX_TEST_POSTGRES_DSN set to the URL of a superuser's connection, Postgres makes its
// databases on that server instead. StartPostgres still starts one of its own. AX_TEST_MYSQL_DSN,
// in the form of the driver, does so for MySQL.
//
// Call these functions outside of a synctest bubble: they wait for real processes.
package testdb
