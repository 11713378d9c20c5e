package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
)

// fileConnector opens connections to a SQLite file that is still the one that this
// process began with.
type fileConnector struct {
	id     *identity
	driver driver.Driver
	dsn    string
}

func openPool(id *identity, dsn string, size int) (*sql.DB, error) {
	named, err := sql.Open("sqlite", dsn) // opens nothing
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
	gen := c.id.generation()
	if err := c.id.check(true); err != nil { // SQLite would make a log beside the wrong file
		return nil, err
	}
	conn, err := c.driver.Open(c.dsn)
	if err != nil {
		return nil, err
	}
	lite, ok := conn.(liteConn)
	if !ok {
		_ = conn.Close()
		return nil, fmt.Errorf("store: the SQLite driver's connection is a %T", conn)
	}
	if err := c.id.check(true); err != nil { // it may have opened another file
		_ = conn.Close()
		return nil, err
	}
	return fileConn{lite, c.id, gen}, nil
}

// Driver implements driver.Connector.
func (c fileConnector) Driver() driver.Driver { return c.driver }

// liteConn is what the SQLite driver's connection can do.
type liteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// fileConn is a connection that ends when the file goes on under another inode.
type fileConn struct {
	liteConn
	id  *identity
	gen int64
}

// ResetSession implements driver.SessionResetter.
func (c fileConn) ResetSession(ctx context.Context) error {
	if c.gen != c.id.generation() {
		return driver.ErrBadConn
	}
	return c.liteConn.ResetSession(ctx)
}

// IsValid implements driver.Validator.
func (c fileConn) IsValid() bool { return c.gen == c.id.generation() && c.liteConn.IsValid() }
