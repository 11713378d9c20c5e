package server

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// openHooks opens the port of the webhook receiver.
func (s *server) openHooks(ctx context.Context) error {
	if s.app.Config.Webhooks.Listen == "" {
		return nil
	}
	var err error
	if s.hooks, err = s.app.Hooks().Receiver(s.opt.Getenv, true); err != nil {
		return err
	}
	s.hooksAt, err = s.app.Hooks().Server(ctx, s.hooks)
	return err
}

// warn prints a problem that does not stop the server.
func (s *server) warn(line string) error {
	_, err := fmt.Fprintln(s.opt.Out, "warning   "+line)
	return err
}

// onHangUp calls fn at each SIGHUP, which would otherwise end the process.
func onHangUp(fn func()) (stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-c:
				fn()
			case <-done:
				return
			}
		}
	}()
	return func() { signal.Stop(c); close(done) }
}
