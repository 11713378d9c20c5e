package server

import (
	"context"

	"opdeck/internal/surface/lendproxy"
)

// openLend opens the socket and the port where the session is lent.
func (s *server) openLend(ctx context.Context) error {
	c := s.app.Config.Lend
	if c.Socket == "" && c.Listen == "" {
		return nil
	}
	keys, err := s.app.BorrowerKeys(s.opt.Getenv)
	if err != nil {
		return err
	}
	s.lender, err = lendproxy.Open(ctx, s.app, lendproxy.Options{Socket: c.Socket, Listen: c.Listen, Keys: keys})
	return err
}
