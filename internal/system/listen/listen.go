// Package listen opens the ports of the program's servers, limits their connections, and shuts HTTP servers down.
package listen

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Open opens a TCP port. what names the server in errors.
func Open(ctx context.Context, what, addr string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return l, nil
}

// Serve serves on l, whose connections c limits, until ctx ends, then gives running requests grace to finish and cuts
// the others. It returns nil if none was cut.
func Serve(ctx context.Context, what string, s *http.Server, l net.Listener, c *Conns, grace time.Duration) error {
	c.bind(s)
	done := make(chan error, 1)
	go func() { done <- s.Serve(readings{l}) }()
	select {
	case err := <-done:
		return fmt.Errorf("%s: %w", what, err)
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := s.Shutdown(end)
	if err != nil {
		err = errors.Join(err, s.Close())
	}
	<-done
	return err
}
