// Package mysql keeps tasks in MySQL 8.0 or MariaDB 10.6, or later ones.
package mysql
