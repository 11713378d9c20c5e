package sandbox

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Service is the built-in service over one data file. All state lives in the
// file: several Services on it, in one process or many, are one server.
type Service struct {
	*store
	mux     *http.ServeMux
	handler http.Handler // mux, or what Options.Around returned
	courier courier

	running context.Context // ends with Close; for work that outlives the call that started it
	stop    context.CancelFunc
	work    sync.WaitGroup
}

// Open opens the data file, creates it with sample data if it is new, and starts
// the deliveries of webhooks. Close ends them.
func Open(ctx context.Context, o Options) (*Service, error) {
	probe := newSettings(o)
	if err := probe.apply(o); err != nil {
		return nil, err
	}
	data, err := openStore(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("sandbox: open data: %w", err)
	}
	s := &Service{store: data, courier: courier{store: data}}
	s.mux = s.newMux()
	if o.Fresh || o.Living {
		if err := s.catchUp(ctx); err != nil {
			s.closePools()
			return nil, fmt.Errorf("sandbox: bring the data up to now: %w", err)
		}
	}
	s.running, s.stop = context.WithCancel(context.Background())
	s.Go(s.courier.deliver)
	s.handler = http.HandlerFunc(s.dispatch)
	if o.Around != nil {
		s.handler = o.Around(s, s.handler)
	}
	return s, nil
}

// Close stops the deliveries and closes the file. What is still in the outbox
// is delivered after the next Open.
func (s *Service) Close() error {
	s.stop()
	s.work.Wait()
	return s.closePools()
}

// Handler serves the service's paths.
func (s *Service) Handler() http.Handler { return s.handler }

// Now returns the time by the service's clock.
func (s *Service) Now() time.Time { return s.clock() }

// Go runs f until Close, which ends its context and waits for it.
func (s *Service) Go(f func(ctx context.Context)) { s.work.Go(func() { f(s.running) }) }

// Variants are what the service does differently where its documents say nothing.
type Variants struct {
	Skew       time.Duration // of the Date header and of the times in tokens
	ShareApart bool          // a share changes neither the application nor the customer's status
}

// Vary sets the variants of this process; the zero value is the usual service.
func (s *store) Vary(v Variants) { s.variants.Store(&v) }
