package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
)

// fileConnector opens connections to a SQLite file, if it is still the file that this process opened first.
type fileConnector struct {
	id     *identity
	driver driver.Driver
	dsn    string
}

func openPool(id *identity, dsn string, size int) (*sql.DB, error) {
	named, err := sql.Open("sqlite", dsn) // does not open the file
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	p := sql.OpenDB(fileConnector{id, named.Driver(), dsn})
	p.SetMaxOpenConns(size)
	p.SetMaxIdleConns(size)
	return p, named.Close()
}

// Connect implements driver.Connector.
func (c fileConnector) Connect(context.Context) (driver.Conn, error) {
	if err := c.id.check(true); err != nil { // SQLite would create a log beside the wrong file
		return nil, err
	}
	conn, err := c.driver.Open(c.dsn)
	if err != nil {
		return nil, err
	}
	if err := c.id.check(true); err != nil { // it may have opened another file
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// Driver implements driver.Connector.
func (c fileConnector) Driver() driver.Driver { return c.driver }
